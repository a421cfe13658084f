package perf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bandmate.dev/bandmate/internal/requires"
)

// openThread opens an event of a running process, or ends the test where the
// kernel or a sandbox forbids that.
func openThread(t *testing.T, thread int, e Event) Group {
	t.Helper()
	g, err := Kernel{}.OpenThread(thread, e)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		requires.Unmet(t, "needs permission to count other processes: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestKernelThread counts page faults of a shell that runs already, and of what
// it starts after that.
func TestKernelThread(t *testing.T) {
	for _, userOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("user only %v", userOnly), func(t *testing.T) {
			before := descriptors(t)
			cmd := exec.Command("sh", "-c", "read go; /proc/self/exe -c : </dev/null; read go")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			event := software("page-faults", swPageFaults)
			event.UserOnly = userOnly
			g := openThread(t, cmd.Process.Pid, event)
			var early, late CounterSample
			if err := g.Read(&early); err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write([]byte("go\n")); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(in.Close(), ignoreExit(cmd.Wait())); err != nil {
				t.Fatal(err)
			}
			if err := g.Read(&late); err != nil {
				t.Fatal(err)
			}
			if d, err := difference(early, late); err != nil || d.Values[0] == 0 {
				t.Errorf("counted %+v, %v; want the faults of what the shell started", d, err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if after := descriptors(t); after != before {
				t.Errorf("%d descriptors open, %d before", after, before)
			}
		})
	}
}

func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

func TestKernelThreadFaults(t *testing.T) {
	openThread(t, os.Getpid(), software("page-faults", swPageFaults)).Close()
	before := descriptors(t)
	for name, tt := range map[string]struct {
		thread int
		event  Event
		want   error
	}{
		"no such thread":             {math.MaxInt32, software("page-faults", swPageFaults), syscall.ESRCH},
		"no such event":              {os.Getpid(), software("unused", swDummyUnused), syscall.ENOENT},
		"no such event, of the user": {os.Getpid(), Event{Label: "unused", Type: typeSoftware, Code: [3]uint64{swDummyUnused}, UserOnly: true}, syscall.ENOENT},
	} {
		if _, err := (Kernel{}).OpenThread(tt.thread, tt.event); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.event.Label) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}

func TestSystemError(t *testing.T) {
	lost := fmt.Errorf("Failed to open perf event for PerfEventAttr {}: %q", syscall.EMFILE) //nolint:errorlint // as perf-utils does
	if err := systemError(lost); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("%v, want %v", err, syscall.EMFILE)
	}
	if other := errors.New("something else"); systemError(other) != other { //nolint:errorlint // the very same
		t.Error("an unknown error was changed")
	}
}
