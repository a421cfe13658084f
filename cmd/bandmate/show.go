package main

import (
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// curvePlot is the picture of a profile's curve family.
func curvePlot(p *v1alpha1.ApplicationProfile) *report.CurvePlot {
	plot := &report.CurvePlot{Title: p.Name}
	for _, c := range p.Spec.Curves {
		curve := report.Curve{ReadShare: units.ReadShare(c.ReadShare), Pattern: c.Pattern}
		for _, point := range c.Points {
			drawn := report.CurvePoint{
				Bandwidth:   units.Bandwidth(point.InterfererBytesPerSecond),
				Performance: units.NormalizedPerformance(point.NormalizedPerformance),
			}
			if point.Spread != nil {
				drawn.Spread = units.NormalizedPerformance(*point.Spread)
			}
			curve.Points = append(curve.Points, drawn)
		}
		plot.Curves = append(plot.Curves, curve)
	}
	return plot
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
