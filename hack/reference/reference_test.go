package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
)

const root = "../.."

// Every field that a profile may have stands in the tables.
func TestFieldTablesAreWhole(t *testing.T) {
	tables, err := fieldTables(filepath.Join(root, "api", "v1alpha1"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of == reflect.TypeFor[metav1.Time]() || seen[of] {
			return
		}
		seen[of] = true
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(tables, "| `"+name+"` |") {
				t.Errorf("%s.%s is missing", of.Name(), name)
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[v1alpha1.ApplicationProfileSpec]())
	visit(reflect.TypeFor[v1alpha1.MachineProfileSpec]())
	for _, want := range []string{
		"| `interfererBytesPerSecond` | number | bytes per second, from 1e3, to 1e13 |",
		"| `pattern` | string, may be absent | `sequential`, `random` |",
		"#### `spec.curves[].points[]` of ApplicationProfile",
	} {
		if !strings.Contains(tables, want) {
			t.Errorf("the tables lack %q", want)
		}
	}
	for line := range strings.Lines(tables) {
		if strings.HasPrefix(line, "|") && strings.HasSuffix(strings.TrimSpace(line), "|  |") {
			t.Errorf("a field without a meaning: %s", line)
		}
	}
}

func TestMetricTables(t *testing.T) {
	for folder, want := range map[string]string{
		"schedplugin": "| `bandmate_predicted_slowdown` | histogram | `role` |",
		"agent":       "| `bandmate_agent_memory_traffic_bytes_per_second` | gauge | `direction` |",
	} {
		table, err := metricTable(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(table, want) {
			t.Errorf("%s: the table lacks %q:\n%s", folder, want, table)
		}
	}
}

func TestReplaceSectionWantsItsLines(t *testing.T) {
	if err := replaceSection(filepath.Join(root, "README.md"), "fields", ""); err == nil {
		t.Error("a page without the section was accepted")
	}
}
