package predictor

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// hostileApplications are profiles that a careless or unlucky measurement leaves.
func hostileApplications(t *testing.T) map[string]*Application {
	t.Helper()
	gaps := withCurve(withCurve(profileOf("gaps", 10, 1), 0.5, 0.9, 0.95, 0.9, 0.8, 0.7), 1, 0.9, 0.95, 0.9, 0.8, 0.7)
	gaps.Spec.Curves[0].Points = gaps.Spec.Curves[0].Points[3:]
	gaps.Spec.Curves[1].Points = append(gaps.Spec.Curves[1].Points[:1], gaps.Spec.Curves[1].Points[3])
	twice := withCurve(profileOf("duplicates", 10, 0.8), 0.5, 0.9, 0.95, 0.9, 0.8, 0.7)
	withCurve(twice, 0.5, 0.8, 0.9, 0.8, 0.7, 0.5)
	twice.Spec.Curves[0].Points = append(twice.Spec.Curves[0].Points, twice.Spec.Curves[0].Points...)
	nothing := withCurve(profileOf("zero bandwidth", 0, 1), 1, 1, 0.95, 0.9, 0.8, 0.7)
	stopped := withCurve(profileOf("interferer stopped", 10, 1), 1, 1, 0.95, 0.9, 0.8, 0.7)
	for i := range stopped.Spec.Curves[0].Points {
		stopped.Spec.Curves[0].Points[i].AchievedBytesPerSecond = new(0.0)
	}
	pulses := withCurve(profileOf("pulses", 0, 1), 0.75, 1, 0.95, 0.9, 0.8, 0.7)
	pulses.Spec.Phases = []v1alpha1.Phase{{TimeShare: 0.5, ReadBytesPerSecond: 2 * gb}, {TimeShare: 0.5}}
	return map[string]*Application{
		"phases of no traffic":  compiled(t, pulses),
		"gaps":                  compiled(t, gaps),
		"duplicates":            compiled(t, twice),
		"zero bandwidth":        compiled(t, nothing),
		"interferer stopped":    compiled(t, stopped),
		"a single point":        compiled(t, withCurve(profileOf("single", 10, 1), 1, 0.9, 0.7)),
		"all ones":              compiled(t, withCurve(profileOf("ones", 10, 1), 1, 1, 1, 1, 1, 1)),
		"above one":             compiled(t, withCurve(profileOf("above", 10, 1), 1, 1.1, 1.1, 1.08, 1.2, 1.02)),
		"falls then rises":      compiled(t, withCurve(profileOf("rises", 10, 1), 0.75, 0.9, 0.6, 0.5, 0.8, 0.95)),
		"pure writes":           compiled(t, withCurve(profileOf("writes", 10, 0), 0, 0.9, 0.95, 0.9, 0.8, 0.7)),
		"above what memory has": compiled(t, withCurve(profileOf("much", 5000, 1), 1, 0.1, 0.9, 0.5, 0.3, 0.1)),
	}
}

// Whatever is among the profiles, a calibration fails or predicts, for the hostile
// one and its neighbors, what can be.
func TestHostileProfilesAreCalibratedOrRefused(t *testing.T) {
	var ordinary []*Application
	for _, a := range calibratedApps(t, 5) {
		plain := *a
		plain.calibrated = nil
		ordinary = append(ordinary, &plain)
	}
	for name, hostile := range hostileApplications(t) {
		t.Run(name, func(t *testing.T) {
			c, err := Calibrate(append(append([]*Application{}, ordinary...), hostile), memory.LinkUnknown)
			if err != nil {
				t.Fatal(err)
			}
			soundTogether(t, []*Application{hostile, ordinary[0]}) // by their curves
			apps := []*Application{}
			for _, a := range []*Application{hostile, ordinary[0], ordinary[1], hostile} {
				applied, err := c.Apply(a)
				if err == nil {
					a = applied
				} else if !errors.Is(err, ErrNotCalibrated) {
					t.Fatal(err)
				}
				apps = append(apps, a)
				soundTogether(t, apps)
			}
		})
	}
}

func soundTogether(t *testing.T, apps []*Application) {
	t.Helper()
	p, err := Predict(apps[0], apps[1:], Options{Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if v := float64(p.NormalizedPerformance); !(v > 0 && v <= 1) || !(p.Interval.Low >= 1 && p.Interval.High >= p.Slowdown) || math.IsInf(float64(p.Interval.High), 0) {
		t.Errorf("%d applications, %s: performance %v, slowdown %v, interval %v", len(apps), p.Basis, v, p.Slowdown, p.Interval)
	}
	for name, s := range p.CorunnerSlowdowns {
		if !(s >= 1) || math.IsInf(float64(s), 0) {
			t.Errorf("%d applications, %s: %s %v", len(apps), p.Basis, name, s)
		}
	}
}

// Hostile profiles alone are not enough for a model, or give one.
func TestHostileProfilesAlone(t *testing.T) {
	for name, hostile := range hostileApplications(t) {
		if c, err := Calibrate([]*Application{hostile}, memory.LinkUnknown); err == nil {
			applied, err := c.Apply(hostile)
			if err == nil {
				soundTogether(t, []*Application{applied, applied})
			}
		} else if !errors.Is(err, memory.ErrNotEnough) {
			t.Errorf("%s: %v, want one that says that this is not enough", name, err)
		}
	}
}

// Thousands of co-runners press harder than some, and not without bound.
func TestThousandsOfCorunnersInTheModel(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	apps := calibratedApps(t, 5)
	many := []*Application{apps[0]}
	for i := range 3000 {
		many = append(many, apps[1+i%4])
	}
	var w Workspace
	some := w.Performances(nil, many[:5])[0]
	all := w.Performances(nil, many)
	for i, p := range all {
		if !(p > 0 && p <= 1) {
			t.Fatalf("%d of %d: %v", i, len(many), p)
		}
	}
	if !(all[0] < some) {
		t.Errorf("%v beside thousands, %v beside four", all[0], some)
	}
	soundTogether(t, many)
}

// Pressure beyond one curve and not beyond the next is read from each: an application does
// better by little where the read share of the others changes by little.
func TestPressureBeyondOneCurve(t *testing.T) {
	p := withCurve(profileOf("app", 2, 1), 0.5, 1, 0.9, 0.8, 0.7, 0.6)
	p = withCurve(p, 1, 1, 0.9, 0.8, 0.7, 0.6)
	for i := range p.Spec.Curves[0].Points {
		point := &p.Spec.Curves[0].Points[i]
		point.InterfererBytesPerSecond /= 2
		if point.AchievedBytesPerSecond != nil {
			*point.AchievedBytesPerSecond /= 2
		}
	}
	a := compiled(t, p)
	top := a.responses[0].top()
	at := func(share units.ReadShare) units.NormalizedPerformance {
		return a.Beside(units.TrafficOf(1.8*top, share))
	}
	last := at(0.5)
	for share := units.ReadShare(0.502); share <= 1; share += 0.002 {
		now := at(share)
		if now-last > 0.02 || now < last-0.001 {
			t.Fatalf("%.3f beside %.1f%% reads, %.3f beside 0.2%% fewer", now, 100*share, last)
		}
		last = now
	}
	// What is explained adds up to what is extrapolated from.
	read := a.respond(units.TrafficOf(1.8*top, 0.75), 100*gb)
	var sum float64
	for _, r := range a.explainReading(read).Readings {
		sum += r.Weight * float64(r.NormalizedPerformance)
	}
	if math.Abs(sum-float64(read.measured)) > 1e-9 {
		t.Errorf("readings add up to %.4f, the performance is %.4f", sum, read.measured)
	}
}

// Applications that cause no traffic do not change what the others suffer, however many
// there are.
func TestIdleApplicationsChangeNothing(t *testing.T) {
	p := withCurve(profileOf("app", 2, 1), 1, 1, 1, 1, 0.95, 0.7)
	apps := []*Application{compiled(t, p)}
	for i := range 4 {
		burst := profileOf(fmt.Sprintf("burst-%d", i), 2.4, 1)
		burst.Spec.Phases = []v1alpha1.Phase{{TimeShare: 0.1, ReadBytesPerSecond: 24 * gb}, {TimeShare: 0.9}}
		apps = append(apps, compiled(t, burst))
	}
	var w Workspace
	want := w.Performances(nil, apps)[0]
	for i := range 2*mostPartners + 2 {
		apps = append(apps, Unprofiled(fmt.Sprintf("idle-%d", i)))
		if got := w.Performances(nil, apps)[0]; math.Abs(float64(got-want)) > 1e-6 {
			t.Fatalf("%.6f beside %d idle applications, %.6f beside none", got, i+1, want)
		}
	}
}
