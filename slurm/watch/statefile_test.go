package watch

import (
	"encoding/json"
	"reflect"
	"testing"

	"bandmate.dev/bandmate/slurm"
)

// Whatever a state file holds, it is refused or can be worked with, and what is
// written reads back as it was.
func FuzzParseState(f *testing.F) {
	intended := "n01"
	whole, err := json.Marshal(state{Version: stateVersion, Cluster: "test", Jobs: Memory{
		7: {Job: "7", Application: "heavy", Original: "n03", Set: "n[01,03]", Intended: &intended, Turn: 2, Failures: 1, Pause: 3},
		8: {Job: "8", LeftAlone: "changed", Started: true},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"version":1,"jobs":{"-1":{"original":"n[","set":"]"}}}`))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data)
		if err != nil {
			return
		}
		fake := newFake(2)
		fake.run(1, "tender", "n01")
		for id := range s.Jobs {
			if fake.job(id) == nil && len(fake.cluster.Jobs) < 5 {
				fake.submit(id, "heavy")
			}
		}
		memory, _ := s.Jobs.Reconcile(&fake.cluster, &slurm.Site{})
		for id, e := range memory {
			if e.Intended != nil && fake.job(id).Pending() && e.LeftAlone == "" {
				t.Errorf("job %d: a change stays under way after a look at the queue: %+v", id, e)
			}
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseState(again)
		if err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s reads back as %+v, %v", again, back, err)
		}
	})
}
