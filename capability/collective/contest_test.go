package collective

import (
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/capability"
)

// The model's choice comes first, with its cost, and all run.
func TestContestants(t *testing.T) {
	known := parameters(2)
	noContention := known
	noContention.Contention = nil
	tests := []struct {
		name    string
		op      Operation
		machine *capability.Parameters
		threads int
		want    []string
	}{
		{"barrier", BarrierOperation, &known, 9, []string{
			"dissemination, partners: 2 (optimal)", "dissemination, partners: 1", "binary tree", "central counter (flat)", "sync.Cond",
		}},
		{"the classic barrier is the best", BarrierOperation, &known, 2, []string{
			"dissemination, partners: 1 (optimal)", "binary tree", "central counter (flat)", "sync.Cond",
		}},
		{"barrier of an unknown machine", BarrierOperation, nil, 4, []string{
			"dissemination, partners: 1", "binary tree", "central counter (flat)", "sync.Cond",
		}},
		{"broadcast", BroadcastOperation, &known, 9, []string{"optimal tree", "flat tree", "binary tree", "binomial tree", "sync.Cond"}},
		{"reduction without contention", ReduceOperation, &noContention, 3, []string{"flat tree", "binary tree", "binomial tree", "sync.Cond"}},
		{"reduction of an unknown machine", ReduceOperation, nil, 1, []string{"flat tree", "binary tree", "binomial tree", "sync.Cond"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := Contestants(tt.op, tt.machine, tt.threads)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range all {
				names = append(names, c.Name)
				together(tt.threads, func(thread int) {
					for range calls {
						c.Do(thread)
					}
				})
			}
			if !slices.Equal(names, tt.want) {
				t.Errorf("got %q, want %q", names, tt.want)
			}
			if modeled := all[0].Modeled != nil; modeled != strings.Contains(tt.want[0], "optimal") {
				t.Errorf("%s: modeled %t", names[0], modeled)
			}
		})
	}
}

func TestContestantsRefuse(t *testing.T) {
	if _, err := Contestants("scan", nil, 2); err == nil || !strings.Contains(err.Error(), `operation "scan": want one of`) {
		t.Error(err)
	}
	for _, op := range Operations() {
		if _, err := Contestants(op, nil, 0); err == nil || !strings.Contains(err.Error(), "0 threads") {
			t.Errorf("%s: %v", op, err)
		}
		if _, err := Contestants(op, &capability.Parameters{Contention: &capability.Line{}}, 2); err == nil || !strings.Contains(err.Error(), "cores per tile") {
			t.Errorf("%s: %v", op, err)
		}
	}
}
