package cli

import (
	"cmp"
	"fmt"
	"io"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// CurvePlot is the picture of a profile's curve family, with the curves that the
// predictor fits to it, where it can.
func CurvePlot(p *v1alpha1.ApplicationProfile) *report.CurvePlot {
	plot := &report.CurvePlot{Title: p.Name}
	fits := fittedCurves(p)
	for _, c := range p.Spec.Curves {
		curve := report.Curve{ReadShare: units.ReadShare(c.ReadShare), Pattern: c.Pattern}
		for _, point := range c.Points {
			drawn := report.CurvePoint{
				Bandwidth:   units.Bandwidth(point.InterfererBytesPerSecond),
				Performance: units.NormalizedPerformance(point.NormalizedPerformance),
				Inferred:    point.Inferred,
			}
			if point.Spread != nil {
				drawn.Spread = units.NormalizedPerformance(*point.Spread)
			}
			curve.Points = append(curve.Points, drawn)
		}
		if fit, ok := fits[curveKey{c.ReadShare, patternOf(c)}]; ok {
			curve.HalfWidth = units.NormalizedPerformance(fit.HalfWidth)
			for _, at := range fit.Curve {
				curve.Fitted = append(curve.Fitted, report.FittedPoint{
					Bandwidth: units.Bandwidth(at[0]), Performance: units.NormalizedPerformance(at[1]),
				})
			}
		}
		plot.Curves = append(plot.Curves, curve)
	}
	return plot
}

// curveKey identifies a curve of a family.
type curveKey struct {
	readShare float64
	pattern   string
}

// Sequential is the pattern of curves that need not say one.
const Sequential = "sequential"

func patternOf(c v1alpha1.SensitivityCurve) string { return cmp.Or(c.Pattern, Sequential) }

// fittedCurves are what predictions read of a profile; none where it does not
// compile, which commands that predict say.
func fittedCurves(p *v1alpha1.ApplicationProfile) map[curveKey]predictor.Fit {
	a, err := predictor.Compile(p)
	if err != nil || len(p.Spec.Curves) == 0 {
		return nil
	}
	// The predictor reads the curves of one pattern.
	pattern := patternOf(p.Spec.Curves[0])
	for _, c := range p.Spec.Curves {
		if patternOf(c) == Sequential {
			pattern = Sequential
		}
	}
	fits := map[curveKey]predictor.Fit{}
	for _, r := range a.Fits() {
		fits[curveKey{float64(r.ReadShare), pattern}] = r
	}
	return fits
}

// TrafficText is a contentiousness in words: how much, how sure, what mix, by
// which source.
func TrafficText(c v1alpha1.Contentiousness) string {
	traffic := units.Traffic{Read: units.Bandwidth(c.ReadBytesPerSecond), Write: units.Bandwidth(c.WriteBytesPerSecond)}
	text := report.Bandwidth(traffic.Total())
	if c.RelativeUncertainty != nil {
		text = report.BandwidthWithin(traffic.Total(), *c.RelativeUncertainty)
	}
	if share, ok := traffic.ReadShare(); ok {
		text += ", " + report.ReadShare(share)
	}
	return text + " (by " + report.SanitizeText(c.Source) + ")"
}

// writeAlone says how the application runs alone: in both roles, where they differ.
func writeAlone(w io.Writer, p *v1alpha1.ApplicationProfile) {
	name, solo, traffic := report.SanitizeText(p.Name), report.Seconds(p.Spec.Solo.Seconds), TrafficText(p.Spec.Contentiousness)
	d := p.Spec.Distance
	if d == nil {
		fmt.Fprintf(w, "%s: %s alone, %s\n", name, solo, traffic)
		return
	}
	target := p.Spec.Contentiousness
	target.ReadBytesPerSecond, target.WriteBytesPerSecond = d.TargetReadBytesPerSecond, d.TargetWriteBytesPerSecond
	fmt.Fprintf(w, "%s: %s alone as a target, %s\n", name, solo, TrafficText(target))
	fmt.Fprintf(w, "as a co-runner, farther from the memory: %s alone, %s\n", report.Seconds(d.CorunnerSolo.Seconds), traffic)
}

// WriteProfile shows a profile with the plot of its curves.
func (a *App) WriteProfile(w io.Writer, p *v1alpha1.ApplicationProfile) error {
	writeAlone(w, p)
	m := p.Spec.Measurement
	if m.Regime != nil {
		var cpus string
		if m.TargetCPUs != "" && m.InterfererCPUs != "" {
			cpus = fmt.Sprintf("CPUs %s beside %s, ", m.TargetCPUs, m.InterfererCPUs)
		}
		fmt.Fprintf(w, "measured on %s, %s%s placement, %s dropped\n",
			report.SanitizeText(p.Spec.Machine.Name), cpus, report.SanitizeText(m.Regime.Name), text.Count(m.DroppedSamples, "sample"))
	}
	if m.SharedLastLevelCache != nil && *m.SharedLastLevelCache {
		fmt.Fprintln(w, "the interferer shared the last-level cache: the curves hold cache and bandwidth contention")
	}
	writeInCache(w, p.Spec.Cache)
	if held := p.Spec.CacheOccupancyBytes; held != nil {
		fmt.Fprintf(w, "alone it holds %s of the last-level cache\n", report.Bytes(int64(*held)))
	}
	if text := communicationText(p.Spec.Communication); text != "" {
		fmt.Fprintf(w, "network: %s\n", text)
	}
	writeServiceSweep(w, p.Spec.Service)
	fmt.Fprintln(w)
	if err := CurvePlot(p).Write(w, a.Canvas()); err != nil {
		return err
	}
	a.Warn(p.Spec.Warnings)
	return nil
}

// writeInCache prints the performance beside working sets in the shared cache; nothing
// without.
func writeInCache(w io.Writer, points []v1alpha1.CachePoint) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintln(w, "beside a working set that is accessed in random order, in the shared cache or beyond:")
	for _, p := range points {
		holds := ""
		if p.OccupancyBytes != nil {
			holds = ", holds " + report.Bytes(int64(*p.OccupancyBytes))
		}
		fmt.Fprintf(w, "  %10s, %.0f%% reads, at %4.0f%%, %s: performance %.3f%s\n",
			report.Bytes(p.FootprintBytes), 100*p.ReadShare, 100*p.Level, report.Bandwidth(units.Bandwidth(p.AchievedBytesPerSecond)), p.NormalizedPerformance, holds)
	}
	switch used := len(predictor.UsableCachePoints(points)); {
	case used == 0:
		fmt.Fprintln(w, "  too few of these points are precise: predictions take the application as one without them")
	case used < len(points):
		fmt.Fprintf(w, "  predictions use the %d of these points that are precise\n", used)
	}
}

// writeServiceSweep prints the load sweep of a service; nothing without.
func writeServiceSweep(w io.Writer, s *v1alpha1.Service) {
	if s == nil {
		return
	}
	least := ""
	if s.SaturationAtLeast {
		least = " or more"
	}
	fmt.Fprintf(w, "service: saturates at %.5g requests/s%s\n", s.SaturationRequestsPerSecond, least)
	for _, l := range s.Loads {
		fmt.Fprintf(w, "  %9.5g requests/s: p50 %s, p99 %s, p99.9 %s, %.2f CPUs\n", l.RequestsPerSecond,
			report.Seconds(l.P50Seconds), report.Seconds(l.P99Seconds), report.Seconds(l.P999Seconds), l.CPUSecondsPerSecond)
	}
	if s.Shared != "" {
		fmt.Fprintf(w, "  %s\n", report.SanitizeText(s.Shared))
	}
}

// communicationText is a communication in a line; empty without.
func communicationText(c *v1alpha1.Communication) string {
	if c == nil {
		return ""
	}
	rate := func(verb string, b *float64) string {
		switch {
		case b == nil:
			return verb + " an unknown amount"
		case *b == 0:
			return verb + " nothing"
		}
		return fmt.Sprintf("%s %s", verb, units.Bandwidth(*b))
	}
	text := fmt.Sprintf("%s, %s (%s)", rate("sends", c.SentBytesPerSecond), rate("receives", c.ReceivedBytesPerSecond), report.SanitizeText(c.Source))
	if c.Overlapped != nil {
		text += map[bool]string{true: ", computes meanwhile", false: ", waits meanwhile"}[*c.Overlapped]
	}
	if c.Apart {
		text += "; measured without that communication"
	}
	return text
}
