// Package pairing divides jobs into pairs with the least total slowdown. It is pure and
// deterministic.
package pairing

import (
	"errors"
	"fmt"
	"math"

	"bandmate.dev/bandmate/units"
)

// Alone stands for the partner of a job without one.
const Alone = -1

// Slowdowns returns the slowdown of job i and that of job j when the two share
// a memory domain. It is asked for i < j only.
type Slowdowns func(i, j int) (ofI, ofJ units.Slowdown)

// Problem is a pairing problem. A job alone has a slowdown of 1.
type Problem struct {
	// Jobs is the number of jobs, 1 or more. One of an odd number stays alone.
	Jobs int
	// Slowdowns gives finite slowdowns above zero.
	Slowdowns Slowdowns
	// Limit is a slowdown that no job should exceed; zero means none.
	Limit units.Slowdown
}

// Pairing is an answer to a Problem.
type Pairing struct {
	// Partner is the partner of each job, or Alone.
	Partner []int
	// Total is the sum of all slowdowns, those of jobs alone included.
	Total float64
	// Worst is the highest slowdown of any job.
	Worst units.Slowdown
	// OverLimit is how many pairs hold a job slower than the limit.
	OverLimit int
}

// ErrNoJobs is returned for a problem without jobs.
var ErrNoJobs = errors.New("no jobs to pair: name at least one")

// table holds the slowdowns of a problem, so that each is asked for once. An
// odd number of jobs is made even by an empty place, whose partner is alone.
type table struct {
	jobs, places int
	slowdowns    []units.Slowdown // of i beside j at [i*places+j]
	limit        units.Slowdown
}

// newTable queries and validates all slowdowns.
func newTable(p Problem) (*table, error) {
	if p.Jobs < 1 {
		return nil, ErrNoJobs
	}
	if p.Limit != 0 && !(p.Limit >= 1) {
		return nil, fmt.Errorf("limit of %v: want a slowdown of 1 or more, or 0 for none", float64(p.Limit))
	}
	t := &table{jobs: p.Jobs, places: p.Jobs + p.Jobs%2, limit: p.Limit}
	t.slowdowns = make([]units.Slowdown, t.places*t.places)
	for i := range t.jobs {
		for j := i + 1; j < t.jobs; j++ {
			a, b := p.Slowdowns(i, j)
			if !valid(a) || !valid(b) {
				return nil, fmt.Errorf("slowdowns of jobs %d and %d are %v and %v: want finite numbers above 0", i, j, float64(a), float64(b))
			}
			t.slowdowns[i*t.places+j], t.slowdowns[j*t.places+i] = a, b
		}
	}
	if t.places > t.jobs {
		for i := range t.jobs {
			t.slowdowns[i*t.places+t.jobs] = 1
		}
	}
	return t, nil
}

func valid(s units.Slowdown) bool { return s > 0 && !math.IsInf(float64(s), 0) }

// cost is what the pair adds to the total.
func (t *table) cost(i, j int) float64 {
	return float64(t.slowdowns[i*t.places+j] + t.slowdowns[j*t.places+i])
}

func (t *table) worst(i, j int) units.Slowdown {
	return max(t.slowdowns[i*t.places+j], t.slowdowns[j*t.places+i])
}

func (t *table) overLimit(i, j int) bool { return t.limit != 0 && t.worst(i, j) > t.limit }

// pairing sums up who goes with whom, the empty place included.
func (t *table) pairing(partner []int) Pairing {
	p := Pairing{Partner: make([]int, t.jobs)}
	for i := range t.jobs {
		j := partner[i]
		p.Total += float64(t.slowdowns[i*t.places+j])
		p.Worst = max(p.Worst, t.slowdowns[i*t.places+j])
		if i < j && t.overLimit(i, j) {
			p.OverLimit++
		}
		if p.Partner[i] = j; j == t.jobs {
			p.Partner[i] = Alone
		}
	}
	return p
}
