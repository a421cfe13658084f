package watch

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/slurm"
)

// Changes alike are made together, but for arrays with a list of tasks so long that one
// call could not take several; one that no call takes is named as a whole.
func TestGroupsOfLongLists(t *testing.T) {
	list := ""
	array := func(id int64, length int) *slurm.Job {
		return &slurm.Job{ID: id, ArrayID: id, PendingTasks: "1" + strings.Repeat(",11", length/3)}
	}
	changes := []change{
		{jobs: []*slurm.Job{{ID: 1}}, excluded: &list},
		{jobs: []*slurm.Job{array(2, 10*mostBytes)}, excluded: &list},
		{jobs: []*slurm.Job{array(3, 2*mostTasks)}, excluded: &list},
		{jobs: []*slurm.Job{{ID: 4}}, excluded: &list},
	}
	var calls []string
	for _, c := range group(changes) {
		calls = append(calls, c.arguments()[1])
	}
	if len(calls) != 2 || calls[0] != "JobId=1,3,4" || !strings.HasPrefix(calls[1], "JobId=2_[1,11,") {
		t.Errorf("%d calls: %.40q", len(calls), calls)
	}
}
