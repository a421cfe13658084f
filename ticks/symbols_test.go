package ticks

import (
	"path/filepath"
	"strings"
	"testing"
)

// Programs call the default version of a function, whichever a file lists last.
func TestVersionsOfFunctions(t *testing.T) {
	dir := t.TempDir()
	source, versions, library := filepath.Join(dir, "versions.c"), filepath.Join(dir, "versions.map"), filepath.Join(dir, "libversions.so")
	write(t, source, `
int current_a(void) { return 1; }
int old_a(void) { return 2; }
int current_b(void) { return 3; }
int old_b(void) { return 4; }
int only_old(void) { return 5; }
static int chosen(void) { return 6; }
int old_chosen(void) { return 7; }
static int (*choose(void))(void) { return chosen; }
int current_chosen(void) __attribute__((ifunc("choose")));
__asm__(".symver old_a,a@OLD\n.symver current_a,a@@NEW\n.symver current_b,b@@NEW\n.symver old_b,b@OLD");
__asm__(".symver only_old,c@OLD\n.symver old_chosen,d@OLD\n.symver current_chosen,d@@NEW");
`)
	write(t, versions, "OLD { global: a; b; c; d; };\nNEW { global: a; b; d; current_a; current_b; only_old; local: *; } OLD;\n")
	for _, symbols := range []string{"-g", "-s"} { // with all of them, or stripped
		compile(t, library, symbols, "-shared", "-fPIC", "-Wl,--version-script="+versions, source)
		s, err := readSymbols(library)
		if err != nil {
			t.Fatal(err)
		}
		for name, same := range map[string]string{"a": "current_a", "b": "current_b", "c": "only_old"} {
			if got, want := s.offsets[name], s.offsets[same]; got != want || want == 0 {
				t.Errorf("%s is at %#x, want %s at %#x", name, got, same, want)
			}
		}
		if got, err := s.offset("a@@NEW"); err != nil || got != s.offsets["current_a"] {
			t.Errorf("as nm names it: %#x, %v", got, err)
		}
		if _, err := s.offset("d"); err == nil || !strings.Contains(err.Error(), "one of several functions") {
			t.Errorf("a function whose default version is chosen when the program starts: %v", err)
		}
	}
}
