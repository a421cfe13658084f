package slurm

import (
	"fmt"
	"slices"
	"time"
)

// mostSeated bounds how many waiting jobs are seated before an advice, and mostTried for how
// many of them room is looked for.
const mostSeated, mostTried = 100, 1000

// seatWaiting makes the jobs residents that are about to start: those that have just
// been submitted, and those of the same user, that wait although there is room for
// them. Each takes the best nodes that it may use.
func (t *ranking) seatWaiting(c *Cluster) error {
	seated, tried := 0, 0
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !t.comesBefore(j, c.Time) {
			continue
		}
		if seated == mostSeated || tried == mostTried {
			t.unseated++
			continue
		}
		request := t.advisor.site().Request(j)
		if request.Validate() != nil {
			continue
		}
		tried++
		request.Widen(c, t.room)
		fits := t.room.Fitting(&request)
		its := &ranking{
			advisor: t.advisor, request: &request, scorer: t.scorer, occupancy: t.occupancy, room: t.room, placing: true,
			nodes: slices.DeleteFunc(request.Matching(c), func(n *Node) bool { return !fits(n) }),
		}
		if len(its.nodes) < request.Nodes {
			continue
		}
		seated++
		ranked, err := its.candidates()
		if err != nil {
			return fmt.Errorf("job %s: %w", j, err)
		}
		for i := range ranked {
			ranked[i].OverLimit = 0 // it is in the queue, whatever it does to others
		}
		if _, _, err := its.choose(ranked); err != nil {
			return fmt.Errorf("job %s: %w", j, err)
		}
	}
	return nil
}

// comesBefore reports whether a job in the queue may start before the one that is
// advised about.
func (t *ranking) comesBefore(j *Job, now time.Time) bool {
	r := t.request
	if !j.MayStart() || (r.Job != nil && (!r.Job.Pending() || j.ID >= r.Job.ID)) {
		return false
	}
	// For others Slurm has found no node, whatever the room.
	turn := slices.Contains([]string{"", "None", "Priority"}, j.Reason)
	return j.Fresh(now) || (r.User != "" && j.User == r.User && turn)
}
