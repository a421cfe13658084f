package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// tried is a test that notes how it ended.
type tried struct {
	testing.TB
	said string
}

func (t *tried) Helper()                           {}
func (t *tried) Fatal(args ...any)                 { t.said = fmt.Sprint(args...); runtime.Goexit() }
func (t *tried) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
func (t *tried) Errorf(format string, args ...any) { t.said = fmt.Sprintf(format, args...) }

// try returns what Want says, empty where it is content.
func try(path, got string) string {
	t := &tried{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Want(t, path, []byte(got))
	}()
	<-done
	return t.said
}

func TestWant(t *testing.T) {
	asked := *update
	defer func() { *update = asked }()
	*update = false
	path := filepath.Join(t.TempDir(), "testdata", "a.golden")
	if said := try(path, "a\n"); !strings.Contains(said, "no such file") || !strings.Contains(said, "-update") {
		t.Errorf("without a file: %q", said)
	}
	*update = true
	if said := try(path, "a\n"); said != "" {
		t.Errorf("-update: %s", said)
	}
	if text, err := os.ReadFile(path); string(text) != "a\n" || err != nil {
		t.Errorf("-update wrote %q: %v", text, err)
	}
	*update = false
	if said := try(path, "a\n"); said != "" {
		t.Errorf("the same: %s", said)
	}
	if said := try(path, "b\n"); !strings.Contains(said, path) || !strings.Contains(said, "-update") {
		t.Errorf("another: %q", said)
	}
	if text, err := os.ReadFile(path); string(text) != "a\n" || err != nil {
		t.Errorf("without -update the file became %q: %v", text, err)
	}
}
