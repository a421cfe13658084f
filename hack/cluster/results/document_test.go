package results

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the tables of the document")

const (
	page   = "../../../docs/results/kubernetes.md"
	folder = "../../../docs/results/kubernetes"
)

// The tables of the document are those of the records.
func TestDocument(t *testing.T) {
	tables, err := Tables(folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Rewrite(string(text), tables)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s differs from its records: run hack/evaluate-kubernetes.sh tables (-want +got):\n%s", page, diff)
	}
}

func TestRewrite(t *testing.T) {
	const document = "a\n<!-- x: begin, made -->\nold\n<!-- x: end -->\nb\n<!-- y: begin -->\n<!-- y: end -->\n"
	got, err := Rewrite(document, map[string]string{"x": "| X |\n", "y": "| Y |\n"})
	want := "a\n<!-- x: begin, made -->\n\n| X |\n\n<!-- x: end -->\nb\n<!-- y: begin -->\n\n| Y |\n\n<!-- y: end -->\n"
	if err != nil || got != want {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
	again, err := Rewrite(got, map[string]string{"x": "| X |\n", "y": "| Y |\n"})
	if err != nil || again != got {
		t.Errorf("%v, a second time makes %q of %q", err, again, got)
	}
	for _, text := range []string{"", "<!-- x: begin -->\n", "<!-- x: end -->", "<!-- x: begin <!-- x: end -->"} {
		if _, err := Rewrite(text, map[string]string{"x": ""}); err == nil || !strings.Contains(err.Error(), "<!-- x: begin -->") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// A record with a field that no table would show, and a folder without records,
// are errors.
func TestRecords(t *testing.T) {
	empty := t.TempDir()
	if _, err := Tables(empty); err == nil || !strings.Contains(err.Error(), "hack/evaluate-kubernetes.sh") {
		t.Errorf("empty folder: error %v, want the command that makes the records", err)
	}
	if err := Write(filepath.Join(empty, "sub"), "cost", Cost{MedianNanoseconds: []float64{1}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(empty, "sub", "cost.json")
	got, err := read[Cost](file)
	if err != nil || len(got.MedianNanoseconds) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(file, []byte(`{"medianPicoseconds": [1]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read[Cost](file); err == nil {
		t.Error("a field that nobody knows: no error")
	}
}
