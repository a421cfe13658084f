package predictor

import (
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
)

const gb = 1e9

// profileOf makes a profile that reads gbps at the given read share, without
// curves.
func profileOf(name string, gbps, readShare float64) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond:  gbps * gb * readShare,
		WriteBytesPerSecond: gbps * gb * (1 - readShare),
		Source:              "imc",
	}
	return p
}

// withCurve adds a curve of four points at 5, 10, 15 and 20 GB/s; achieved is
// what the interferer keeps of that, or 0 where it was not recorded.
func withCurve(p *v1alpha1.ApplicationProfile, readShare, achieved float64, performance ...float64) *v1alpha1.ApplicationProfile {
	c := v1alpha1.SensitivityCurve{ReadShare: readShare}
	for i, y := range performance {
		level := float64(i+1) / float64(len(performance))
		point := v1alpha1.CurvePoint{
			Level: level, InterfererBytesPerSecond: 20 * gb * level, NormalizedPerformance: y, Repeats: 3,
		}
		if achieved > 0 {
			b := point.InterfererBytesPerSecond * achieved
			point.AchievedBytesPerSecond = &b
		}
		c.Points = append(c.Points, point)
	}
	p.Spec.Curves = append(p.Spec.Curves, c)
	return p
}

// withDistance sets the traffic as a target, all of it reads, and how much longer the
// application takes as a co-runner.
func withDistance(p *v1alpha1.ApplicationProfile, gbps, timeRatio float64) *v1alpha1.ApplicationProfile {
	p.Spec.Solo.Seconds = 1
	p.Spec.Distance = &v1alpha1.Distance{
		CorunnerSolo: v1alpha1.Timing{Seconds: timeRatio, Repeats: 1}, TargetReadBytesPerSecond: gbps * gb,
	}
	return p
}

func compiled(t testing.TB, p *v1alpha1.ApplicationProfile) *Application {
	t.Helper()
	a, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drawProfile makes any valid profile: any read shares, levels, noise, phases.
func drawProfile(t *rapid.T, name string) *v1alpha1.ApplicationProfile {
	p := profileOf(name,
		rapid.OneOf(rapid.Float64Range(0, 60), rapid.Just(0.0)).Draw(t, "GB/s"),
		rapid.Float64Range(0, 1).Draw(t, "read share"))
	recorded := rapid.Bool().Draw(t, "achieved recorded")
	for range rapid.IntRange(1, 4).Draw(t, "curves") {
		c := v1alpha1.SensitivityCurve{ReadShare: rapid.SampledFrom([]float64{0, 0.5, 0.6, 0.75, 0.9, 1}).Draw(t, "share")}
		for range rapid.IntRange(1, 6).Draw(t, "points") {
			level := rapid.Float64Range(0.01, 1).Draw(t, "level")
			point := v1alpha1.CurvePoint{
				Level:                    level,
				InterfererBytesPerSecond: level * 30 * gb,
				NormalizedPerformance:    rapid.Float64Range(0.02, 1.1).Draw(t, "performance"),
				Repeats:                  rapid.IntRange(0, 4).Draw(t, "repeats"),
			}
			if recorded {
				b := level * 30 * gb * rapid.Float64Range(0, 1.2).Draw(t, "achieved")
				point.AchievedBytesPerSecond = &b
			}
			if point.Repeats > 1 {
				s := rapid.Float64Range(0, 0.1).Draw(t, "spread")
				point.Spread = &s
			}
			c.Points = append(c.Points, point)
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "samples") {
		p.Spec.Contentiousness.Timeline = append(p.Spec.Contentiousness.Timeline, v1alpha1.TrafficSample{
			Seconds:             float64(i + 1),
			ReadBytesPerSecond:  rapid.Float64Range(0, 50*gb).Draw(t, "read"),
			WriteBytesPerSecond: rapid.Float64Range(0, 20*gb).Draw(t, "write"),
		})
	}
	return p
}
