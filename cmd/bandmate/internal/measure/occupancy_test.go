package measure

import (
	"errors"
	"os"
	"testing"

	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

func TestWatchProcessThatHasEnded(t *testing.T) {
	const beyond = 1 << 22 // the largest number of a process, plus 1
	var o bench.Occupancy
	var err error
	o, err = watchProcess(&pmu.Host{Proc: os.DirFS("/proc")}, beyond)
	if o != nil || !errors.Is(err, tasks.ErrEnded) {
		t.Errorf("%v, %v; want nil, %v", o, err, tasks.ErrEnded)
	}
}
