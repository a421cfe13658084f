package main

import (
	"cmp"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// curvePlot is the picture of a profile's curve family, with the curves that the
// predictor fits to it, where it can.
func curvePlot(p *v1alpha1.ApplicationProfile) *report.CurvePlot {
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

// curveKey tells the curves of a family apart.
type curveKey struct {
	readShare float64
	pattern   string
}

// sequential is the pattern of curves that need not say one.
const sequential = "sequential"

func patternOf(c v1alpha1.SensitivityCurve) string { return cmp.Or(c.Pattern, sequential) }

// fittedCurves are what predictions read of a profile; none where it does not
// compile, which commands that predict say.
func fittedCurves(p *v1alpha1.ApplicationProfile) map[curveKey]predictor.SnapshotResponse {
	a, err := predictor.Compile(p)
	if err != nil || len(p.Spec.Curves) == 0 {
		return nil
	}
	// The predictor reads the curves of one pattern.
	pattern := patternOf(p.Spec.Curves[0])
	for _, c := range p.Spec.Curves {
		if patternOf(c) == sequential {
			pattern = sequential
		}
	}
	fits := map[curveKey]predictor.SnapshotResponse{}
	for _, r := range predictor.Snapshots([]*predictor.Application{a}).Applications[0].Responses {
		fits[curveKey{float64(r.ReadShare), pattern}] = r
	}
	return fits
}

// trafficText is a contentiousness in words: how much, how sure, what mix, by
// which source.
func trafficText(c v1alpha1.Contentiousness) string {
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
