// Package requires is for tests that need something of the machine: a second
// CPU, a right, an interpreter.
package requires

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Everything is the environment variable with which continuous integration
// promises to meet every need: an unmet one then fails the test instead of
// skipping it.
const Everything = "BANDMATE_TEST_REQUIRE_ALL"

// Unmet ends a test or benchmark whose need is not met. The message names the need.
func Unmet(t testing.TB, format string, arguments ...any) {
	t.Helper()
	if os.Getenv(Everything) != "" {
		t.Fatalf(format, arguments...)
	}
	t.Skipf(format, arguments...)
}

// TwoCPUs ends a test unless this process may use two CPUs.
func TwoCPUs(t testing.TB) {
	t.Helper()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatalf("sched_getaffinity: %v", err)
	}
	if n := allowed.Count(); n < 2 {
		Unmet(t, "needs two CPUs; this process may use %d", n)
	}
}
