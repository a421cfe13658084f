package measure

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/profiler"
)

func TestWriteActivity(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    *profiler.Activity
		want string
	}{
		{"unknown", nil, ""},
		{"time alone", &profiler.Activity{CPUSeconds: new(1.5)}, "  1.50 s of CPU time\n"},
		{"all", &profiler.Activity{
			CPUSeconds: new(1.5), Instructions: new(2e9), InstructionsUserOnly: true, ContextSwitches: new(12.0), OtherCPUSeconds: new(0.25),
		}, "  1.50 s of CPU time, 2e+09 instructions in user space, 12 context switches, everything else used 250 ms\n"},
	} {
		var b strings.Builder
		if err := writeActivity(&b, tt.a); err != nil || b.String() != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, b.String(), err, tt.want)
		}
	}
}

func TestProbeFinding(t *testing.T) {
	for measurable, want := range map[bool]doctor.State{true: doctor.OK, false: doctor.Missing} {
		if f := probeFinding(measurable); f.State != want || f.Name != "source-probe" || f.Detail == "" {
			t.Errorf("measurable %v: %+v", measurable, f)
		}
	}
}
