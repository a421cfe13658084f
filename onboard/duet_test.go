package onboard

import (
	"os"
	"testing"

	"bandmate.dev/bandmate/onboard/launch"
)

// A target that has found its page counts into it, however much it computes before.
func TestTargetThatCountsItself(t *testing.T) {
	session := openSession(t)
	for name, c := range map[string]struct {
		command launch.Command
		counts  bool
	}{
		"late":            {launch.Command{Args: os.Args[:1], Env: append(os.Environ(), countVariable+"="+(2*pageTrial).String())}, true},
		"never":           {shell("while :; do :; done"), false},
		"ends early":      {shell("true"), false},
		"through a shell": {launch.Command{Args: []string{"sh", "-c", os.Args[0] + "; :"}, Env: append(os.Environ(), countVariable+"="+(2*pageTrial).String())}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &duet{target: &program{session: session, command: c.command, cpus: session.Placement.Target}}
			if counts, err := r.countsItself(t.Context()); counts != c.counts || err != nil {
				t.Errorf("%v, %v; want %v", counts, err, c.counts)
			}
		})
	}
}
