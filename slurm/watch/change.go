package watch

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/slurm"
)

// change is what one call of scontrol does: the same to each of several jobs.
type change struct {
	jobs []*slurm.Job
	// excluded is the new list, empty for none, and remark the new
	// AdminComment; nil leaves them as they are.
	excluded, remark *string
}

// mostJobs bounds how many jobs one call names, and mostBytes the text that names one that
// it names together with others, so that its arguments stay far below what a system accepts:
// 128 KiB for each.
const (
	mostJobs  = 100
	mostBytes = 600
	// mostTasks bounds the list of the tasks of one array, which would otherwise be named as
	// a whole.
	mostTasks = 100 << 10
)

// group joins changes that one call can make, in the order of the first job of each
// group.
func group(changes []change) []change {
	type key struct {
		excluded, remark           string
		changesNodes, changesWords bool
	}
	var groups []change
	last := make(map[key]int)
	for _, c := range changes {
		k := key{changesNodes: c.excluded != nil, changesWords: c.remark != nil}
		if c.excluded != nil {
			k.excluded = *c.excluded
		}
		if c.remark != nil {
			k.remark = *c.remark
		}
		long := slices.ContainsFunc(c.jobs, func(j *slurm.Job) bool { return len(address(j)) > mostBytes })
		if at, ok := last[k]; ok && !long && len(groups[at].jobs) < mostJobs {
			groups[at].jobs = append(groups[at].jobs, c.jobs...)
			continue
		}
		if !long {
			last[k] = len(groups)
		}
		groups = append(groups, change{jobs: slices.Clone(c.jobs), excluded: c.excluded, remark: c.remark})
	}
	return groups
}

// arguments are those of scontrol.
func (c change) arguments() []string {
	var addresses []string
	for _, j := range c.jobs {
		addresses = append(addresses, address(j))
	}
	arguments := []string{"update", "JobId=" + strings.Join(addresses, ",")}
	if c.excluded != nil {
		arguments = append(arguments, "ExcNodeList="+*c.excluded)
	}
	if c.remark != nil {
		arguments = append(arguments, "AdminComment="+*c.remark)
	}
	return arguments
}

// tasks is a list of array tasks that Slurm did not cut short.
var tasks = regexp.MustCompile(`^[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*$`)

// address names exactly this record to scontrol. The bare id of the
// leader of a heterogeneous job means all its components, that of an array all
// its tasks; naming all waiting tasks together keeps them one record.
func address(j *slurm.Job) string {
	if j.ArrayID == 0 || j.Task != nil {
		return j.String()
	}
	pending, _, _ := strings.Cut(j.PendingTasks, "%")
	if len(pending) > mostTasks || !tasks.MatchString(pending) {
		return strconv.FormatInt(j.ArrayID, 10)
	}
	return fmt.Sprintf("%d_[%s]", j.ArrayID, pending)
}

// outcome is what became of a change.
type outcome struct {
	job *slurm.Job
	// err is nil when scontrol confirmed the change. Otherwise the queue says in the
	// next round whether it was made.
	err error
}

// tell makes the changes and returns the outcome of each. It stops when slurmctld does
// not answer: unanswered is that error, and changes without an outcome were not tried.
func tell(ctx context.Context, runner slurm.Runner, changes []change) (outcomes []outcome, unanswered error) {
	for _, c := range group(changes) {
		_, err := runner.Run(ctx, "scontrol", c.arguments()...)
		if slurm.Unanswered(err) {
			return append(outcomes, all(c.jobs, err)...), err
		}
		if err == nil || len(c.jobs) == 1 {
			outcomes = append(outcomes, all(c.jobs, err)...)
			continue
		}
		// Some job of the group cannot be changed: each is tried alone.
		for i, j := range c.jobs {
			alone := change{jobs: []*slurm.Job{j}, excluded: c.excluded, remark: c.remark}
			_, err := runner.Run(ctx, "scontrol", alone.arguments()...)
			if slurm.Unanswered(err) {
				// The call for the group may have changed any of the others.
				return append(outcomes, all(c.jobs[i:], err)...), err
			}
			outcomes = append(outcomes, outcome{j, err})
		}
	}
	return outcomes, nil
}

func all(jobs []*slurm.Job, err error) []outcome {
	var outcomes []outcome
	for _, j := range jobs {
		outcomes = append(outcomes, outcome{j, err})
	}
	return outcomes
}

// due returns the decisions that change something, at most as many as given, and how
// many are left for the next round. Releases come first: they let jobs run.
func due(decisions []Decision, m Memory, most int) (now []Decision, later int) {
	for _, d := range decisions {
		if d.Action != Keep && d.Action != Skip && !m[d.Job.ID].waits() {
			now = append(now, d)
		}
	}
	slices.SortStableFunc(now, func(a, b Decision) int { return cmp.Compare(urgency(a), urgency(b)) })
	if len(now) > most {
		now, later = now[:most], len(now)-most
	}
	return now, later
}

func urgency(d Decision) int {
	if d.Action == Release {
		return 0
	}
	return 1
}

// enforcement is the change that makes Slurm do what was decided.
func enforcement(d Decision) change {
	c := change{jobs: []*slurm.Job{d.Job}, excluded: &d.Excluded}
	if strings.HasPrefix(d.Job.AdminComment, Remark) {
		c.remark = new(string)
	}
	return c
}

// advice is the change that shows users what would be decided; false when nothing
// changes, or the comment is, or may be, somebody else's.
func advice(d Decision) (change, bool) {
	if d.Job.AdminCommentUntold {
		return change{}, false
	}
	remark := ""
	if d.Action == Exclude || d.Action == Change {
		remark = Remark + "better not on " + d.Excluded + ": " + d.Reason
	}
	stands := d.Job.AdminComment
	if stands == remark || (stands != "" && !strings.HasPrefix(stands, Remark)) {
		return change{}, false
	}
	return change{jobs: []*slurm.Job{d.Job}, remark: &remark}, true
}
