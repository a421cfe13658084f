package resctrl

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/intel/goresctrl/pkg/monitor"

	"bandmate.dev/bandmate/internal/sysfile"
)

// pretend is a folder like a mounted resctrl, with a class called batch. On
// resctrl the kernel makes and removes the file tasks with its group.
func pretend(t *testing.T, proc fs.FS) (string, *FileSystem) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"mon_groups", "mon_data", "info", "batch/mon_groups"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tasks", "batch/tasks"} {
		setTasks(t, root, name, "")
	}
	f, err := NewFileSystem(root, proc)
	if err != nil {
		t.Fatal(err)
	}
	return root, f
}

func setTasks(t *testing.T, root, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tasksOf(t *testing.T, root, group string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, group, "tasks"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func TestFileSystem(t *testing.T) {
	for class, want := range map[string]string{"": "mon_groups/app", "batch": "batch/mon_groups/app"} {
		root, f := pretend(t, fstest.MapFS{})
		group, err := f.Create("app", class)
		if err != nil || group != want {
			t.Fatalf("%q, %v; want %q", group, err, want)
		}
		setTasks(t, root, group+"/tasks", "")
		if err := f.Join(group, 42); err != nil || tasksOf(t, root, group) != "42" {
			t.Errorf("joined by %q, %v", tasksOf(t, root, group), err)
		}
		if err := f.Return(Place{Class: class}, 42); err != nil || tasksOf(t, root, class) != "42" {
			t.Errorf("returned %q, %v", tasksOf(t, root, class), err)
		}
		if err := os.Remove(filepath.Join(root, group, "tasks")); err != nil {
			t.Fatal(err)
		}
		if err := f.Remove(group); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(root, group)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("still there: %v", err)
		}
		if err := f.Remove(group); !errors.Is(err, monitor.ErrNotTracked) {
			t.Errorf("removed twice: %v", err)
		}
		if err := f.Join(group, 42); !errors.Is(err, monitor.ErrNotTracked) {
			t.Errorf("joined a group that is gone: %v", err)
		}
	}
}

// TestClassIsKept: a thread stays within the class that limits it.
func TestClassIsKept(t *testing.T) {
	root, f := pretend(t, fstest.MapFS{})
	group, err := f.Create("app", "")
	if err != nil {
		t.Fatal(err)
	}
	setTasks(t, root, group+"/tasks", "")
	setTasks(t, root, "batch/tasks", "42\n")
	if err := f.Join(group, 42); !errors.Is(err, monitor.ErrClassMismatch) {
		t.Errorf("%v, want %v", err, monitor.ErrClassMismatch)
	}
	if got := tasksOf(t, root, group); got != "" {
		t.Errorf("joined by %q", got)
	}
}

func TestCreateFaults(t *testing.T) {
	root, f := pretend(t, fstest.MapFS{})
	for name, class := range map[string]string{"": "", "../x": "", "a/b": "", "app": "../x", "app2": "no such class"} {
		if group, err := f.Create(name, class); err == nil {
			t.Errorf("made %q as %q in %q", group, name, class)
		}
	}
	if err := f.Return(Place{Class: "no such class"}, 42); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("returned to nowhere: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "no such class")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a class was made: %v", err)
	}
}

func TestPlaceOf(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Place
		group      string
		is         error
	}{
		{name: "default", text: "res:/\nmon:\n"},
		{name: "monitored", text: "res:/\nmon:app\n", want: Place{Monitor: "app"}, group: "mon_groups/app"},
		{name: "limited", text: "res:batch\nmon:\n", want: Place{Class: "batch"}, group: "batch"},
		{name: "both, with slashes", text: "res:batch/\nmon:app/\n", want: Place{Class: "batch", Monitor: "app"}, group: "batch/mon_groups/app"},
		{name: "not mounted", text: "res:\nmon:\n"},
		{name: "empty", is: sysfile.ErrMalformed},
		{name: "one line", text: "res:/\n", is: sysfile.ErrMalformed},
		{name: "other words", text: "a:/\nb:\n", is: sysfile.ErrMalformed},
		{name: "leads elsewhere", text: "res:..\nmon:\n", is: sysfile.ErrMalformed},
		{name: "deeper", text: "res:a/b\nmon:\n", is: sysfile.ErrMalformed},
		{name: "a third line", text: "res:a\nmon:b\nc\n", is: sysfile.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, f := pretend(t, fstest.MapFS{"7/cpu_resctrl_groups": {Data: []byte(tt.text)}})
			got, err := f.PlaceOf(7)
			if got != tt.want || got.group() != tt.group || !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) {
				t.Errorf("%+v in %q, %v; want %+v in %q, %v", got, got.group(), err, tt.want, tt.group, tt.is)
			}
		})
	}
	_, f := pretend(t, fstest.MapFS{"7/stat": {}})
	if got, err := f.PlaceOf(7); err != nil || got != (Place{}) {
		t.Errorf("a kernel that does not tell: %+v, %v", got, err)
	}
	if _, err := f.PlaceOf(8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a thread that has ended: %v", err)
	}
}

func FuzzParsePlace(f *testing.F) {
	f.Add("res:/\nmon:\n")
	f.Add("res:a\nmon:b\n")
	f.Add("res:..\nmon:\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePlace(text)
		if err != nil && p != (Place{}) || p.group() != "" && !fs.ValidPath(p.group()) {
			t.Errorf("%+v in %q, %v", p, p.group(), err)
		}
	})
}
