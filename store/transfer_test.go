package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

func export(t *testing.T, s *store.Store, names ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Export(&out, names...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExportAndImport(t *testing.T) {
	from := filled(t, application("a", "m", 1), application("a", "n", 2), application("b", "m", 3), machine("m"))
	to := filled(t, application("b", "m", 9))
	added, replaced, err := to.Import(strings.NewReader(export(t, from)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"m", "a@m", "a@n"}, {"b@m"}}, [][]string{added, replaced}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(export(t, from), export(t, to)); diff != "" {
		t.Error(diff)
	}
}

func TestExportChosenNames(t *testing.T) {
	s := filled(t, application("a", "m", 1), application("a", "n", 2), application("b", "m", 3), machine("m"))
	objects, err := v1alpha1.DecodeAll([]byte(export(t, s, "a", "m")))
	if err != nil || len(objects) != 3 {
		t.Errorf("%d profiles, %v", len(objects), err)
	}
	var out bytes.Buffer
	wantError(t, open(t, filepath.Join(t.TempDir(), "missing")).Export(&out), "missing has no profiles")

	write(t, filepath.Join(s.Dir(), "machines", "broken.yaml"), "x")
	wantError(t, s.Export(&out), "broken.yaml", "name the profiles to export")
	wantError(t, s.Export(&out, "a", "broken"), "broken.yaml")
	err = s.Export(&out, "a", "mm")
	if !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	wantError(t, err, "did you mean m?")
	if out.Len() > 0 {
		t.Errorf("a failed export wrote %q", out.String())
	}
	if got := export(t, s, "b"); !strings.Contains(got, "name: b\n") {
		t.Errorf("a broken file hinders the export of another:\n%s", got)
	}
}

func TestImportIsAllOrNothing(t *testing.T) {
	good := export(t, filled(t, application("a", "m", 1), machine("m")))
	long := export(t, filled(t, machine("nn")))
	long = strings.Replace(long, "name: nn", "name: "+strings.Repeat("n", 250), 1)
	tests := []struct{ name, text, want string }{
		{"second is broken", good + "---\nkind: x\n", "apiVersion"},
		{"second is invalid", strings.Replace(good, "seconds: 1", "seconds: -1", 1), "spec.solo.seconds"},
		{"given twice", good + "---\n" + good, "given twice"},
		{"name too long for a file", good + "---\n" + long, "choose a shorter name"},
		{"empty", "", "no profile"},
		{"only comments", "# a\n---\n", "no profile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := filled(t, machine("old"))
			added, replaced, err := s.Import(strings.NewReader(tt.text))
			wantError(t, err, tt.want)
			if len(added)+len(replaced) > 0 || files(t, s) != "machines/old.yaml" {
				t.Errorf("stored %v %v: %s", added, replaced, files(t, s))
			}
		})
	}
	s := filled(t, machine("old"))
	_, _, err := s.Import(failingReader{})
	wantError(t, err, "the network is gone")
}

// An import that fails while it writes says how far it came.
func TestImportThatCannotWriteEverything(t *testing.T) {
	s := filled(t, machine("old"))
	if err := os.MkdirAll(filepath.Join(s.Dir(), "applications", "b@m.yaml", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := export(t, filled(t, application("a", "m", 1), application("b", "m", 2), machine("m")))
	added, replaced, err := s.Import(strings.NewReader(text))
	wantError(t, err, "import: 2 of 3 profiles were stored: ")
	if diff := cmp.Diff([]string{"m", "a@m"}, added); diff != "" || len(replaced) > 0 {
		t.Error(diff, replaced)
	}
}

// What kubectl prints of a second profile of an application has a name and a label with the
// application: the store knows it by the application alone.
func TestNamedByApplication(t *testing.T) {
	object := application("triad.cloud-vm", "cloud-vm", 1)
	object.Labels = map[string]string{v1alpha1.ApplicationLabel: "triad"}
	text, err := v1alpha1.Encode(object)
	if err != nil {
		t.Fatal(err)
	}
	s := filled(t)
	added, _, err := s.Import(bytes.NewReader(text))
	if err != nil || !slices.Equal(added, []string{"triad@cloud-vm"}) {
		t.Errorf("%q, %v", added, err)
	}
	if err := s.Put(object); err != nil || object.Name != "triad.cloud-vm" {
		t.Errorf("%s, %v", object.Name, err)
	}
	p, err := s.Application("triad", "cloud-vm")
	if err != nil || p.Name != "triad" || len(p.Labels)+len(p.Annotations) > 0 || files(t, s) != "applications/triad@cloud-vm.yaml" {
		t.Errorf("%+v, %v: %s", p, err, files(t, s))
	}
	if _, _, err := s.Import(strings.NewReader(string(text) + "---\n" + export(t, s))); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("%v, want given twice", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("the network is gone") }

// The store against a map.
func TestStoreIsAMap(t *testing.T) {
	dir := t.TempDir()
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		s := open(t, filepath.Join(dir, strconv.Itoa(count)))
		model := map[[2]string]float64{}
		name := rapid.SampledFrom([]string{"a", "b", "a.b", "a-b"})
		for i := range rapid.IntRange(1, 8).Draw(rt, "steps") {
			k := [2]string{name.Draw(rt, "name"), name.Draw(rt, "machine")}
			if rapid.Bool().Draw(rt, "put") {
				model[k] = float64(i + 1)
				if err := s.Put(application(k[0], k[1], model[k])); err != nil {
					rt.Fatal(err)
				}
				continue
			}
			err := s.Delete(v1alpha1.KindApplicationProfile, k[0], k[1])
			if _, ok := model[k]; ok != (err == nil) {
				rt.Fatalf("delete %v: %v, stored %v", k, err, model)
			}
			delete(model, k)
		}
		profiles, broken, err := s.Applications()
		if err != nil || len(broken) > 0 || len(profiles) != len(model) {
			rt.Fatalf("%d profiles, want %d: %v %v", len(profiles), len(model), broken, err)
		}
		for _, p := range profiles {
			if want := model[[2]string{p.Name, p.Spec.Machine.Name}]; p.Spec.Solo.Seconds != want {
				rt.Fatalf("%s: %v, want %v", p.Name, p.Spec.Solo.Seconds, want)
			}
		}
	})
}
