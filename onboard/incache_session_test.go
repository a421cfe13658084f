package onboard

import (
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/ticks/progress"
)

// countVariable has the test binary compute and count without end, after it has computed
// for as much CPU time as the variable says.
const countVariable = "BANDMATE_TEST_COUNT"

// countedVariable is how often it counts at most before it ends.
const countedVariable = "BANDMATE_TEST_COUNTED"

func runIfCounting() {
	uncounted, err := time.ParseDuration(os.Getenv(countVariable))
	if err != nil {
		return
	}
	for used := time.Duration(0); used < uncounted; used, _ = monotonic.ProcessTime(os.Getpid()) {
	}
	most, err := strconv.Atoi(os.Getenv(countedVariable))
	if err != nil {
		most = math.MaxInt
	}
	x := 1.0
	for range most {
		for range 10_000 {
			x = math.Sqrt(x + 1)
		}
		progress.Add(1)
	}
	os.Exit(min(int(x), 0))
}

// A program that needs no cache is measured beside working sets in that of this machine.
func TestPointsInTheCacheOfThisMachine(t *testing.T) {
	session := openSession(t)
	run := &ticked{Onboarding: &Onboarding{
		Session: session, Ticking: &Ticking{},
		Application: Application{"app", launch.Command{Args: os.Args[:1], Env: append(os.Environ(), countVariable+"=0s")}},
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
	if run.stage, err = session.openStage(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := run.stage.close(); err != nil {
			t.Error(err)
		}
	}()
	tag, err := run.probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target := run.program(run.Application.Command, ticks.Page{}, true)
	var watches []*made
	session.occupancy = func(int) (Occupancy, error) {
		watches = append(watches, &made{readings: []float64{5e6}})
		return watches[len(watches)-1], nil
	}
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
