package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

func application(name, machine string, seconds float64) *v1alpha1.ApplicationProfile {
	return &v1alpha1.ApplicationProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ApplicationProfileSpec{
			Machine:         v1alpha1.MachineReference{Name: machine},
			Solo:            v1alpha1.Timing{Seconds: seconds, Repeats: 1},
			Contentiousness: v1alpha1.Contentiousness{ReadBytesPerSecond: 1e9, Source: "imported"},
			Curves: []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{
				{Level: 1, InterfererBytesPerSecond: 40e9, NormalizedPerformance: 0.8, Repeats: 1},
			}}},
		},
	}
}

func machine(name string) *v1alpha1.MachineProfile {
	return &v1alpha1.MachineProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.MachineProfileSpec{
			Sockets: 1, NUMANodes: 1, CPUs: 8,
			Sustained: []v1alpha1.SustainedBandwidth{{ReadShare: 1, BytesPerSecond: 40e9, Repeats: 1}},
		},
	}
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filled returns a store with the objects in a new folder.
func filled(t *testing.T, objects ...v1alpha1.Object) *store.Store {
	t.Helper()
	s := open(t, t.TempDir())
	put(t, s, objects...)
	return s
}

func put(t *testing.T, s *store.Store, objects ...v1alpha1.Object) {
	t.Helper()
	for _, o := range objects {
		if err := s.Put(o); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, s *store.Store) string {
	t.Helper()
	applications, broken, err := s.Applications()
	if err != nil || len(broken) > 0 {
		t.Fatal(broken, err)
	}
	machines, broken, err := s.Machines()
	if err != nil || len(broken) > 0 {
		t.Fatal(broken, err)
	}
	var all []string
	for _, p := range applications {
		all = append(all, p.Name+"@"+p.Spec.Machine.Name)
	}
	for _, m := range machines {
		all = append(all, m.Name)
	}
	return strings.Join(all, " ")
}

// files lists every file below the store, hidden ones too.
func files(t *testing.T, s *store.Store) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, s.Dir()+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}
