package bench

import (
	"math"
	"testing"

	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/onboard/launch"
)

// A target that has found its page counts into it, however much it computes before.
func TestTargetThatCountsItself(t *testing.T) {
	session := openSession(t)
	late := testprogram.Counting(2*pageTrial, math.MaxInt)
	throughShell := testprogram.Shell(late.Args[0] + "; :")
	throughShell.Env = late.Env
	for name, c := range map[string]struct {
		command launch.Command
		counts  bool
	}{
		"late":            {late, true},
		"never":           {testprogram.Shell("while :; do :; done"), false},
		"ends early":      {testprogram.Shell("true"), false},
		"through a shell": {throughShell, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Program{session: session, command: c.command, cpus: session.Placement.Target}
			if counts, err := p.CountsItself(t.Context()); counts != c.counts || err != nil {
				t.Errorf("%v, %v; want %v", counts, err, c.counts)
			}
		})
	}
}
