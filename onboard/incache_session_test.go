package onboard

import (
	"math"
	"slices"
	"testing"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// A program that needs no cache is measured beside working sets in that of this machine.
func TestPointsInTheCacheOfThisMachine(t *testing.T) {
	var watches []*made
	session := openSession(t, bench.Placing{Occupancy: func(int) (bench.Occupancy, error) {
		watches = append(watches, &made{readings: []float64{5e6}})
		return watches[len(watches)-1], nil
	}})
	run := &ticked{Onboarding: &Onboarding{
		Session: session, Ticking: &Ticking{},
		Application: Application{"app", testprogram.Counting(0, math.MaxInt)},
	}, perSecond: math.Inf(1), schedule: &schedule{}}
	h, shared := run.holding(regime.SameComplex)
	if !shared { // as where every CPU has a last-level cache of its own
		var profile v1alpha1.ApplicationProfile
		if err := run.addInCache(t.Context(), nil, regime.SameComplex, time.Minute, &profile); err != nil || profile.Spec.Cache != nil || profile.Spec.Warnings != nil {
			t.Errorf("without a shared cache: %+v, %v", profile.Spec, err)
		}
		return
	}
	var err error
	if run.Stage, err = session.OpenStage(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := run.Stage.Close(); err != nil {
			t.Error(err)
		}
	}()
	tag, err := run.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target := run.Program(run.Application.Command, ticks.Page{}, true)
	var profile v1alpha1.ApplicationProfile
	const spent = 15 * time.Second
	if err := run.addInCache(t.Context(), target, tag.Class, spent, &profile); err != nil {
		t.Fatal(err)
	}
	points, warnings := profile.Spec.Cache, profile.Spec.Warnings
	t.Logf("%s placement: %+v, %q", tag.Class, points, warnings)
	if _, measured := run.holding(tag.Class); measured && len(points) == 0 && len(warnings) == 0 {
		t.Error("neither a point nor a reason")
	}
	if len(points) > 0 && (profile.Spec.CacheOccupancyBytes == nil || *profile.Spec.CacheOccupancyBytes != 5e6) {
		t.Errorf("holds %v alone", profile.Spec.CacheOccupancyBytes)
	}
	for _, w := range watches {
		if !w.closed {
			t.Error("the program is still watched")
		}
	}
	wanted := append(h.Pressures(), h.Beyond())
	for _, p := range points {
		if !slices.ContainsFunc(wanted, func(w pressure.Pressure) bool { return h.Total(w) == p.FootprintBytes && w.Level == p.Level }) {
			t.Errorf("a point that nobody wanted: %+v", p)
		}
		if p.Repeats < fewestInCache || !(p.AccessedBytesPerSecond > 0) || !(p.AchievedBytesPerSecond > 0) || !(p.NormalizedPerformance > 0) || p.OccupancyBytes == nil || *p.OccupancyBytes != 5e6 {
			t.Errorf("point %+v", p)
		}
	}
}
