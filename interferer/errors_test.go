package interferer

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
)

// An error of the child is the same one for the parent, its text and what it
// wraps.
func TestFaultsCrossToTheParent(t *testing.T) {
	sentinels := []error{ErrMemory, ErrCPU, ErrEveryCPU, ErrNode, ErrMaxDuration, fs.ErrPermission}
	for _, test := range []struct {
		err  error
		want error
	}{
		{fmt.Errorf("thread 0: %w: %w", unix.ENOMEM, ErrMemory), ErrMemory},
		{fmt.Errorf("thread 1: %w", ErrCPU), ErrCPU},
		{fmt.Errorf("sched_setaffinity: %w: %w", unix.EPERM, ErrCPU), ErrCPU},
		{ErrMaxDuration, ErrMaxDuration},
		{fmt.Errorf("memory node 1: mbind: %w", unix.EPERM), fs.ErrPermission},
		{errors.New("something else"), nil},
	} {
		got := faultOf(test.err).fault()
		if got == nil || got.Error() != test.err.Error() {
			t.Errorf("%v became %v", test.err, got)
		}
		for _, sentinel := range sentinels {
			if errors.Is(got, sentinel) != errors.Is(test.want, sentinel) {
				t.Errorf("%v: %v is %v: %v", test.err, got, sentinel, errors.Is(got, sentinel))
			}
		}
	}
	if err := (report{Ready: true}).fault(); err != nil {
		t.Errorf("no fault: %v", err)
	}
}

// The remedy is not the setting that is there already.
func TestSmallPagesWarning(t *testing.T) {
	for off, want := range map[bool]string{true: memory.HugePagesRemedy, false: "compact_memory"} {
		got := smallPagesWarning(3<<20, 64<<20, off)
		if !strings.Contains(got, "only 3 of 64 MiB") || !strings.Contains(got, want) || !off && strings.Contains(got, memory.HugePagesRemedy) {
			t.Errorf("huge pages off is %v: %q, want %q in it", off, got, want)
		}
	}
}
