package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/regime"
)

// soloEvery is the number of samples between two solo controls.
const soloEvery = 4

// rounds takes the samples of a survey: round after round it visits every
// target once, and a visit samples each of the target's conditions once, in
// random order between solo controls. So the repeats of a condition lie minutes
// apart, in different states of the machine, while a sample and the controls
// that normalize it lie within a second or two.
type rounds struct {
	tag        func(context.Context) (regime.Tag, error)
	conditions map[string][]onboard.Condition // by target; the first is the solo control
	targets    []string
	class      regime.Class // the placement whose repeats are counted
	repeats    int          // of a pair
	points     int          // repeats of anything else, at most repeats
	keep       func(onboard.Sample) error

	counts map[onboard.Key]int
	spell  int
	taken  int
	lost   int
}

// newRounds groups conditions by target; those of one target begin with its
// solo control.
func newRounds(conditions []onboard.Condition) *rounds {
	r := &rounds{conditions: map[string][]onboard.Condition{}, counts: map[onboard.Key]int{}}
	for _, c := range conditions {
		if r.conditions[c.Target] == nil {
			r.targets = append(r.targets, c.Target)
		}
		r.conditions[c.Target] = append(r.conditions[c.Target], c)
	}
	return r
}

// restore counts the samples of earlier slices.
func (r *rounds) restore(samples []onboard.Sample) {
	for _, s := range samples {
		r.count(s)
		r.spell = max(r.spell, s.Spell+1)
	}
}

func (r *rounds) count(s onboard.Sample) {
	if s.Tag.Class == r.class {
		r.counts[s.Key]++
	}
}

// fewest is how often the target's least sampled condition was sampled.
func (r *rounds) fewest(target string) int {
	fewest := r.repeats
	for _, c := range r.conditions[target] {
		if n := r.counts[keyOf(c)]; n < r.wanted(c) {
			fewest = min(fewest, n)
		}
	}
	return fewest
}

// wanted is how often a condition is sampled. The points of a curve support
// each other; pairs stand alone.
func (r *rounds) wanted(c onboard.Condition) int {
	if isPair(c) {
		return r.repeats
	}
	return r.points
}

func keyOf(c onboard.Condition) onboard.Key { return onboard.Key{Target: c.Target, Beside: c.Beside} }

// complete is how many whole rounds there are.
func (r *rounds) complete() int {
	complete := r.repeats
	for _, t := range r.targets {
		complete = min(complete, r.fewest(t))
	}
	return complete
}

// run takes samples until every condition has its repeats, or time is up, and
// reports which. A visit that time cuts short goes on in the next slice.
func (r *rounds) run(ctx context.Context, until time.Time) (done bool, err error) {
	for {
		round := r.complete()
		if round == r.repeats {
			return true, nil
		}
		var due []string
		for _, t := range r.targets {
			if r.fewest(t) == round {
				due = append(due, t)
			}
		}
		target := due[rand.IntN(len(due))]
		fmt.Fprintf(os.Stderr, "%s: round %d of %d, %s, %d targets to go, %d samples taken, %d lost to a change of placement\n",
			time.Now().Format(time.TimeOnly), round+1, r.repeats, target, len(due), r.taken, r.lost)
		if over, err := r.visit(ctx, target, until); over || err != nil {
			return false, err
		}
	}
}

// visit samples the target's conditions that are behind, and reports whether
// time is up.
func (r *rounds) visit(ctx context.Context, target string, until time.Time) (over bool, err error) {
	all := r.conditions[target]
	solo := all[0]
	var due []onboard.Condition
	round := r.fewest(target)
	for _, c := range all[1:] {
		if n := r.counts[keyOf(c)]; n == round && n < r.wanted(c) {
			due = append(due, c)
		}
	}
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	r.spell++
	for i, c := range due {
		if i%soloEvery == 0 {
			if err := r.sample(ctx, solo); err != nil {
				return false, err
			}
		}
		if time.Now().After(until) {
			return true, nil
		}
		if err := r.sample(ctx, c); err != nil {
			return false, err
		}
	}
	return false, r.sample(ctx, solo)
}

// sample takes one sample; it is lost when the placement changed meanwhile.
func (r *rounds) sample(ctx context.Context, c onboard.Condition) error {
	before, err := r.tag(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	observation, err := c.Run(ctx)
	if err != nil {
		return fmt.Errorf("%s beside %q: %w", c.Target, c.Beside, err)
	}
	after, err := r.tag(ctx)
	if err != nil {
		return err
	}
	r.taken++
	if !before.Same(after) {
		r.lost++
		return nil
	}
	s := onboard.Sample{Key: keyOf(c), Tag: before, Spell: r.spell, Start: start, Observation: observation}
	r.count(s)
	return r.keep(s)
}
