package profiler

import "bandmate.dev/bandmate/units"

// GridPoint is one setting of the interferer in the calibration of a machine.
type GridPoint struct {
	ReadShare units.ReadShare
	// Level is the share of the sustained bandwidth at that read share, above 0
	// to 1; 1 is unpaced.
	Level float64
	// Repeats is how often every probe is sampled beside this setting.
	Repeats int
}

// CalibrationGrid returns the settings beside which to run every one of
// [Probes] for a probe map.
//
// The levels are dense below 55%, where probes lose their speed, and end at 1,
// which tells how much an application can achieve beside a probe. With 1.5%
// noise in a sample, both grids infer total bandwidth to 9–10% of the machine's
// maximum on a simulated one (root mean square over uniformly drawn
// applications, each read once per probe); five read shares × sixteen levels ×
// ten repeats reach 9.0%. The reading of the application limits, not the map.
// What the repeats of the full grid buy is medians, which shrug off a disturbed
// sample.
//
// A calibration samples every probe beside every point as often as the point says,
// and the probe alone once for every two samples beside, because the speed alone
// drifts too. With samples of 100 ms the full grid takes 14.4 s, the quick one
// 3.6 s.
func CalibrationGrid(quick bool) []GridPoint {
	if quick {
		return grid([]level{{0.25, 1}, {0.4, 1}, {0.55, 1}, {1, 1}})
	}
	return grid([]level{{0.1, 3}, {0.25, 3}, {0.4, 3}, {0.55, 3}, {0.75, 2}, {1, 2}})
}

type level struct {
	share   float64
	repeats int
}

func grid(levels []level) []GridPoint {
	var points []GridPoint
	for _, share := range []units.ReadShare{0.5, 0.75, 1} {
		for _, l := range levels {
			points = append(points, GridPoint{ReadShare: share, Level: l.share, Repeats: l.repeats})
		}
	}
	return points
}
