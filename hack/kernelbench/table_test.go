package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

func TestTurnsSurviveTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "raw.csv")
	want := []turn{
		{1, 0, regime.SameComplex, regime.SameComplex, "C, intrinsics", 40e9},
		{0.75, 3, regime.SameComplex, regime.CrossComplex, "stress-ng \"x\"", 1},
	}
	for _, t1 := range want {
		if err := appendTurns(file, []turn{t1}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readTurns(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTabulate has a round in which the regime changed, a rare regime, and a
// memrate loop that another one beats.
func TestTabulate(t *testing.T) {
	same, cross := regime.SameComplex, regime.CrossComplex
	best := "bandmate " + kernel.Best().Name()
	var turns []turn
	round := func(before, after regime.Class, ours, c float64) {
		for name, rate := range map[string]float64{best: ours, "C": c, memratePrefix + "read8": c / 2, memratePrefix + "read64": c / 4} {
			turns = append(turns, turn{1, int64(len(turns) / 4), before, after, name, units.Bandwidth(rate * 1e9)})
		}
	}
	round(same, same, 40, 80)
	round(same, cross, 1, 1)
	round(cross, cross, 9, 1)
	round(same, same, 60, 60)
	round(same, same, 50, 50)

	rows := tabulate(turns)
	var names []string
	for _, r := range rows {
		names = append(names, r.contestant)
		if r.turns != 3 || r.regime != same {
			t.Errorf("%s: %d turns in regime %s, want 3 in %s", r.contestant, r.turns, r.regime, same)
		}
	}
	if diff := cmp.Diff([]string{best, "C", memratePrefix + "read8"}, names); diff != "" {
		t.Fatal(diff)
	}
	if got := rows[0].ratio; got != [3]float64{1, 1, 1} {
		t.Errorf("ratio of ours to itself: %v", got)
	}
	if got := rows[1].ratio[2]; math.Abs(got-1) > 1e-12 {
		t.Errorf("upper quartile of the ratio to C: %v, want 1", got)
	}
	if got := rows[1].ratio[0]; got >= 1 {
		t.Errorf("lower quartile of the ratio to C: %v, want less than 1", got)
	}
}

// TestLikwidTraffic checks the conversion against the traffic of known loops.
func TestLikwidTraffic(t *testing.T) {
	want := map[string]struct {
		share  units.ReadShare
		factor units.Bandwidth
	}{
		"load": {1, 1}, "store": {0.5, 2}, "copy": {2. / 3, 1.5}, "stream": {0.75, 4. / 3}, "store_mem": {0, 1},
	}
	for _, k := range likwidKernels {
		w, ok := want[k.name]
		if !ok {
			continue
		}
		if got := k.share(); !near(got, w.share) {
			t.Errorf("%s: read share %v, want %v", k.name, got, w.share)
		}
		if got := k.controller(1); math.Abs(float64(got-w.factor)) > 1e-12 {
			t.Errorf("%s: %v bytes at the controller for each that is counted, want %v", k.name, float64(got), float64(w.factor))
		}
	}
}
