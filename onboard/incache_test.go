package onboard

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/units"
)

// cacheReadings are made-up readings of an application beside every working set of a cache
// of 32 MiB, which accesses 20 GB/s that hit and 4 GB/s that miss.
type cacheReadings struct {
	pressure.Holding
	e         *estimator
	pressures []pressure.Measured
	resident  pressure.Measured
}

const (
	hitting = 20 * units.GigabytePerSecond
	missing = 4 * units.GigabytePerSecond
)

// newCacheReadings has the largest working set lose a part of its lines with nothing beside
// it, and all lose as much again beside the application.
func newCacheReadings(lost float64, count int) *cacheReadings {
	c := &cacheReadings{
		Holding: pressure.Holding{Bytes: 32 << 20, CPUs: cpuset.New(1), Private: 1 << 20},
		e:       &estimator{session: &bench.Session{Random: rand.New(rand.NewPCG(1, 1))}, readings: map[string][]modulation.Reading{}},
	}
	rate := func(lost float64) float64 { return 1 / (lost/float64(missing) + (1-lost)/float64(hitting)) }
	all := c.Pressures() // each working set at three rates
	last := all[len(all)-1]
	for i, p := range append(all, c.Beyond()) {
		m := pressure.Measured{Pressure: p, Setting: p.Unpaced()}
		alone := rate(0)
		switch {
		case p == c.Beyond():
			alone = float64(missing)
		case p.Footprint == last.Footprint:
			alone = rate(lost)
		}
		speed := 0.8
		if p.Level < 1 {
			m.Setting.Bandwidth = units.Bandwidth(p.Level * alone)
			alone, speed = p.Level*alone, 1
		}
		m.Alone = units.Traffic{Read: units.Bandwidth(alone)}
		c.pressures = append(c.pressures, m)
		c.e.readings[besideName("app", p.String())] = readings(count, 0.9-0.05*float64(i/3), 1000)
		c.e.readings[besideName(p.String(), "app")] = readings(count, speed, alone)
	}
	c.resident = pressure.Measured{Pressure: c.Resident(), Setting: c.Resident().Unpaced(), Alone: units.Traffic{Read: hitting}}
	c.e.readings[c.resident.String()] = readings(count, 1, float64(hitting))
	return c
}

func (c *cacheReadings) points() ([]v1alpha1.CachePoint, string) {
	kept, dropped := c.e.heldPoints("app", c.Holding, c.pressures, c.resident)
	var points []v1alpha1.CachePoint
	for _, k := range kept {
		points = append(points, k.point)
	}
	return points, dropped
}

func TestPointsInTheCache(t *testing.T) {
	c := newCacheReadings(0, 20)
	points, dropped := c.points()
	if len(points) != len(c.Pressures())+1 || dropped != "" {
		t.Fatalf("%d points, %q", len(points), dropped)
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	slow, fast, beyond := points[1], points[2], points[len(points)-1]
	if slow.FootprintBytes != 8<<20 || fast.FootprintBytes != 8<<20 || beyond.FootprintBytes != 256<<20 || fast.Repeats != 20 || fast.ReadShare != 1 {
		t.Errorf("%+v, %+v, %+v", slow, fast, beyond)
	}
	near("half the rate", slow.AccessedBytesPerSecond, 10e9, 0.01)
	near("half the rate beside the application", slow.AchievedBytesPerSecond, 10e9, 0.02)
	near("the rate", fast.AccessedBytesPerSecond, 20e9, 0.01)
	near("the rate beside the application", fast.AchievedBytesPerSecond, 16e9, 0.02)
	near("performance", fast.NormalizedPerformance, 0.9, 0.005)
	near("of the memory", beyond.AccessedBytesPerSecond, 4e9, 0.01)
}

// A working set that is not there with nothing beside it does not count, at no rate.
func TestWorkingSetThatIsNotHeld(t *testing.T) {
	for _, test := range []struct {
		lost float64
		kept int
	}{{0.1, 10}, {0.4, 7}} {
		points, dropped := newCacheReadings(test.lost, 20).points()
		if len(points) != test.kept {
			t.Errorf("%.0f%% lost: %d points, want %d", 100*test.lost, len(points), test.kept)
		}
		if test.kept == 10 && dropped != "" || test.kept == 7 && !strings.HasPrefix(dropped, "14.4 of 24.0 MiB stayed") {
			t.Errorf("%.0f%% lost: %q", 100*test.lost, dropped)
		}
	}
}

// Where the largest working set does not stay, no time is spent on the application.
func TestCannotHold(t *testing.T) {
	for _, test := range []struct {
		lost float64
		out  string
	}{{0.1, ""}, {0.4, "14.4 of 24.0 MiB stayed"}} {
		made := newCacheReadings(test.lost, 20)
		c := &inCache{ticked: &ticked{Onboarding: &Onboarding{}}, Holding: made.Holding}
		reasons := strings.Join(c.cannotHold(made.pressures, made.resident), "; ")
		if (reasons == "") != (test.out == "") || !strings.HasPrefix(reasons, test.out) {
			t.Errorf("%.0f%% lost: %q, want %q", 100*test.lost, reasons, test.out)
		}
	}
}

func TestNoPointsInTheCache(t *testing.T) {
	if points, dropped := newCacheReadings(0, fewestInCache-1).points(); points != nil || !strings.Contains(dropped, "too few readings of 10 of 10 points") {
		t.Errorf("of few readings: %+v, %q", points, dropped)
	}
	c := newCacheReadings(0, 20)
	c.e.readings[c.resident.String()] = readings(20, 1, 1.2*float64(missing))
	if points, dropped := c.points(); points != nil || !strings.Contains(dropped, "cannot be told") {
		t.Errorf("without contrast: %+v, %q", points, dropped)
	}
}
