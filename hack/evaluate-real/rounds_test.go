package main

import (
	"context"
	"testing"
	"time"

	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/regime"
)

// fakeMachine runs conditions that take no time, in a placement of its own.
type fakeMachine struct {
	class   regime.Class
	ran     []onboard.Key
	sampled []onboard.Sample
}

func (f *fakeMachine) conditions(targets ...string) []onboard.Condition {
	var all []onboard.Condition
	for _, target := range targets {
		besides := []string{"", "a pressure"}
		for _, t := range targets {
			besides = append(besides, besideApplication(onboard.Application{Name: t}))
		}
		for _, beside := range besides {
			all = append(all, onboard.Condition{Target: target, Beside: beside, Run: func(context.Context) (onboard.Observation, error) {
				f.ran = append(f.ran, onboard.Key{Target: target, Beside: beside})
				return onboard.Observation{Wall: time.Second}, nil
			}})
		}
	}
	return all
}

func (f *fakeMachine) rounds(repeats, points int, targets ...string) *rounds {
	r := newRounds(f.conditions(targets...))
	r.class, r.repeats, r.points = regime.SameComplex, repeats, points
	r.tag = func(context.Context) (regime.Tag, error) {
		return regime.Tag{Class: f.class, RoundTrip: 50 * time.Nanosecond}, nil
	}
	r.keep = func(s onboard.Sample) error {
		f.sampled = append(f.sampled, s)
		return nil
	}
	return r
}

func TestRoundsTakeEveryConditionAsOftenAsWanted(t *testing.T) {
	f := &fakeMachine{class: regime.SameComplex}
	r := f.rounds(3, 2, "a", "b", "c")
	done, err := r.run(t.Context(), time.Now().Add(time.Hour))
	if err != nil || !done {
		t.Fatalf("done %v, error %v", done, err)
	}
	counts := map[onboard.Key]int{}
	for _, s := range f.sampled {
		counts[s.Key]++
	}
	for _, c := range f.conditions("a", "b", "c") {
		if got, want := counts[keyOf(c)], r.wanted(c); got < want || c.Beside != "" && got != want {
			t.Errorf("%v: %d samples, want %d", keyOf(c), got, want)
		}
	}
}

func TestRoundsComeOneAfterTheOther(t *testing.T) {
	f := &fakeMachine{class: regime.SameComplex}
	r := f.rounds(2, 2, "a", "b")
	if _, err := r.run(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	seen := map[onboard.Key]int{}
	for i, key := range f.ran {
		if key.Beside == "" {
			continue
		}
		seen[key]++
		if seen[key] == 2 && len(seen) < 6 {
			t.Fatalf("sample %d repeats %v after %d of 6 conditions", i, key, len(seen))
		}
	}
}

func TestEveryVisitHasControlsAroundItsSamples(t *testing.T) {
	f := &fakeMachine{class: regime.SameComplex}
	r := f.rounds(2, 2, "a", "b", "c", "d", "e")
	if _, err := r.run(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	since := 0
	for i, s := range f.sampled {
		if i == 0 || s.Spell != f.sampled[i-1].Spell {
			if s.Beside != "" || i > 0 && f.sampled[i-1].Beside != "" {
				t.Fatalf("sample %d: a visit begins or ends without a control", i)
			}
			since = 0
		}
		if since++; s.Beside == "" {
			since = 0
		}
		if since > soloEvery {
			t.Fatalf("sample %d: %d samples without a control", i, since)
		}
	}
}

func TestAnotherPlacementDoesNotCount(t *testing.T) {
	f := &fakeMachine{class: regime.CrossComplex}
	r := f.rounds(2, 1, "a")
	done, err := r.run(t.Context(), time.Now().Add(20*time.Millisecond))
	if err != nil || done || r.complete() != 0 {
		t.Errorf("done %v after %d rounds, error %v", done, r.complete(), err)
	}
}

func TestRoundsGoOnWhereTheyStopped(t *testing.T) {
	f := &fakeMachine{class: regime.SameComplex}
	first := f.rounds(2, 2, "a", "b")
	if _, err := first.run(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	second := f.rounds(2, 2, "a", "b")
	second.restore(f.sampled[:len(f.sampled)-3])
	taken := len(f.ran)
	if done, err := second.run(t.Context(), time.Now().Add(time.Hour)); err != nil || !done {
		t.Fatalf("done %v, error %v", done, err)
	}
	if more := len(f.ran) - taken; more == 0 || more > 5 {
		t.Errorf("%d samples to make up for 3 that were lost", more)
	}
}

func TestALostSampleIsTakenAgain(t *testing.T) {
	f := &fakeMachine{}
	r := f.rounds(1, 1, "a", "b")
	tags := 0
	r.tag = func(context.Context) (regime.Tag, error) {
		tags++
		if tags%7 == 0 {
			return regime.Tag{Class: regime.CrossComplex, RoundTrip: 250 * time.Nanosecond}, nil
		}
		return regime.Tag{Class: regime.SameComplex, RoundTrip: 50 * time.Nanosecond}, nil
	}
	if done, err := r.run(t.Context(), time.Now().Add(time.Hour)); err != nil || !done {
		t.Fatalf("done %v, error %v", done, err)
	}
	if r.lost == 0 || len(f.sampled) != r.taken-r.lost {
		t.Errorf("%d samples kept of %d taken, %d lost", len(f.sampled), r.taken, r.lost)
	}
}
