package v1alpha1

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsyaml "sigs.k8s.io/yaml"
)

// The API server refuses by the markers in the types what Validate refuses by
// the tags.
func TestResourceDefinitionsHoldTheLimits(t *testing.T) {
	compared := 0
	for plural, spec := range map[string]reflect.Type{
		"applicationprofiles": reflect.TypeFor[ApplicationProfileSpec](), "machineprofiles": reflect.TypeFor[MachineProfileSpec](),
	} {
		compared += compareSchema(t, plural, spec, specSchema(t, plural))
	}
	if compared < 100 {
		t.Errorf("%d limits were compared", compared)
	}
}

// compareSchema compares the limits that a schema has with the tags of a type.
func compareSchema(t *testing.T, path string, of reflect.Type, schema map[string]any) (compared int) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if items, ok := schema["items"].(map[string]any); ok {
			schema = items
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[metav1.Time]() {
		return 0
	}
	properties, _ := schema["properties"].(map[string]any)
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("%s.%s is not in the schema: run go generate", path, name)
			continue
		}
		want, _, _ := strings.Cut(field.Tag.Get("want"), ",")
		limits := map[string]any{}
		if rule, ok := numberRules[want]; ok {
			limits["minimum"], limits["maximum"] = rule.low, rule.high
		} else if property["type"] == "number" || property["type"] == "integer" {
			t.Errorf("%s.%s: a number with the rule %q: want one of numberRules", path, name, want)
		}
		if low, high, ok := strings.Cut(field.Tag.Get("len"), ","); ok {
			limits["minItems"], limits["maxItems"] = parseFloat(t, low), parseFloat(t, high)
		}
		if strings.Contains(want, "|") {
			var values []any
			for v := range strings.SplitSeq(strings.TrimPrefix(want, "|"), "|") {
				values = append(values, v)
			}
			limits["enum"] = values
		}
		for limit, want := range limits {
			got, ok := property[limit]
			if ok && !reflect.DeepEqual(got, want) {
				t.Errorf("%s.%s: %s is %v, and %v in the tag: run go generate", path, name, limit, got, want)
			}
			if ok {
				compared++
			}
		}
		compared += compareSchema(t, path+"."+name, field.Type, property)
	}
	return compared
}

// Decode requires the fields that the API server requires.
func TestResourceDefinitionsRequireTheSameFields(t *testing.T) {
	for plural, spec := range map[string]reflect.Type{
		"applicationprofiles": reflect.TypeFor[ApplicationProfileSpec](), "machineprofiles": reflect.TypeFor[MachineProfileSpec](),
	} {
		compareRequired(t, field.NewPath(plural), spec, specSchema(t, plural))
	}
}

func compareRequired(t *testing.T, path *field.Path, of reflect.Type, schema map[string]any) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if items, ok := schema["items"].(map[string]any); ok {
			schema = items
		}
		of = of.Elem()
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	var want, got []string
	required, _ := schema["required"].([]any)
	for _, name := range required {
		want = append(want, path.Child(name.(string)).String())
	}
	f := &faults{}
	f.present(path, of, map[string]any{})
	for _, missing := range f.list {
		got = append(got, missing.Field)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: requires %q, and the schema %q", path, got, want)
	}
	for structField := range of.Fields() {
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		if property, ok := properties[name].(map[string]any); ok {
			compareRequired(t, path.Child(name), structField.Type, property)
		}
	}
}

func parseFloat(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func specSchema(t *testing.T, plural string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../manifests/base/crds/bandmate.dev_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition map[string]any
	if err := sigsyaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	spec, ok, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
	if err != nil || !ok {
		t.Fatalf("no schema of spec: %v", err)
	}
	return spec
}
