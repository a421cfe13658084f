package profiler

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

const (
	// sameShare and unpacedLevel absorb the rounding of values that a person
	// or a file wrote.
	sameShare    = 0.005
	unpacedLevel = 0.99
	// solidMove is how far smoothing may move a point, in relative speed,
	// before the map is doubted: more than three times the usual noise.
	solidMove = 0.06
	// boundMargin is how far beyond the interferer's sustained bandwidth an
	// application may lie: another mix of instructions sustained 6% more than
	// the interferer at the same read share, more CPUs may sustain more.
	boundMargin = 1.15
	// leastContrast is the loss of speed, in standard deviations of the map,
	// below which readings are noise.
	leastContrast = 4
	// leastMapSpread is the error left in a point of the map after smoothing.
	leastMapSpread = 0.006
	// Rates outside these are no memory bandwidths but mistakes.
	leastRate, greatestRate = 1, 1e15
)

// Map is the relative speed of each probe beside known traffic on one machine, as
// a surface over the interferer's read share and the bandwidth that it achieved
// beside the probe. Over the interferer's bandwidth alone, the surface would
// saturate at 40–55% of the machine's maximum, because the two slow each other.
type Map struct {
	probes   map[string]*response
	shares   []float64
	bound    piecewise
	warnings []string
}

// response is the surface of one probe.
type response struct {
	// byAchieved and bySolo give relative speed over the bandwidth of the
	// interferer beside the probe, and alone.
	byAchieved, bySolo surface
	// ceiling is the most the interferer achieved beside the probe, by read
	// share; without knots when it was not driven to level 1.
	ceiling piecewise
	// spread is the standard deviation of the surface.
	spread float64
}

// NewMap builds a Map from a machine's calibration ([v1alpha1.MachineProfileSpec]:
// ProbeMap and Sustained). Curves are smoothed so that more traffic never speeds a
// probe up, duplicate points are averaged, and missing sustained bandwidths are
// estimated from the levels of the points.
//
// All points must be of one placement regime; see [PointsInRegime]. At least one
// probe must have two levels of one read share. With a single read share, read
// shares cannot be inferred. The error joins the faults of all points by index.
func NewMap(points []v1alpha1.ProbePoint, sustained []v1alpha1.SustainedBandwidth) (*Map, error) {
	if err := errors.Join(checkPoints(points), checkSustained(sustained)); err != nil {
		return nil, fmt.Errorf("probe map: %w; measure the machine again with `bandmate machine`", err)
	}
	if regimes := regimesOf(points); len(regimes) > 1 {
		return nil, fmt.Errorf("probe map: points of the regimes %s: samples of different placements do not mix; select one with PointsInRegime",
			strings.Join(regimes, " and "))
	}
	grouped := map[string][][]v1alpha1.ProbePoint{}
	levels := 0
	for _, p := range points {
		grouped[p.Probe] = addToShare(grouped[p.Probe], p)
	}
	m := &Map{probes: map[string]*response{}}
	for _, probe := range slices.Sorted(maps.Keys(grouped)) {
		m.probes[probe] = m.newResponse(probe, grouped[probe])
		for _, group := range grouped[probe] {
			levels = max(levels, distinctLevels(group))
		}
	}
	if levels < 2 {
		return nil, fmt.Errorf("probe map: %d points, at most %d level at a read share: want at least 2 levels; "+
			"measure the machine again with `bandmate machine`", len(points), levels)
	}
	m.shares = sharesOf(points)
	m.bound = boundOf(points, sustained)
	if len(m.shares) < 2 {
		m.warnings = append(m.warnings, "the probe map has one read share: read shares cannot be inferred")
	}
	if len(m.probes) < 2 {
		m.warnings = append(m.warnings, "the probe map has one probe: bandwidth and read share are hard to distinguish")
	}
	if !m.responds() {
		m.warnings = append(m.warnings, fmt.Sprintf("the probes lose at most %.1f%% of their speed in the probe map: any traffic fits a reading", 100*m.Contrast()))
	}
	return m, nil
}

// PointsInRegime returns the points measured in a placement regime, such as
// "same-complex", and those whose regime is unknown.
func PointsInRegime(points []v1alpha1.ProbePoint, regime string) []v1alpha1.ProbePoint {
	var kept []v1alpha1.ProbePoint
	for _, p := range points {
		if p.Regime == "" || p.Regime == regime {
			kept = append(kept, p)
		}
	}
	return kept
}

// Probes returns the names of the probes in the map, sorted.
func (m *Map) Probes() []string { return slices.Sorted(maps.Keys(m.probes)) }

// ReadShares returns the lowest and the highest read share of the map.
func (m *Map) ReadShares() (low, high units.ReadShare) {
	return units.ReadShare(m.shares[0]), units.ReadShare(m.shares[len(m.shares)-1])
}

// Contrast returns the largest loss of relative speed in the map, 0 to 1. Nothing
// can be inferred where it is within the noise of the map.
func (m *Map) Contrast() float64 {
	var contrast float64
	for _, r := range m.probes {
		contrast = max(contrast, r.contrast())
	}
	return contrast
}

// responds reports whether traffic slows a probe by more than noise does.
func (m *Map) responds() bool {
	for _, r := range m.probes {
		if r.contrast() >= leastContrast*r.spread {
			return true
		}
	}
	return false
}

func (r *response) contrast() float64 {
	var contrast float64
	for _, c := range r.byAchieved.curves {
		contrast = max(contrast, 1-c.y[len(c.y)-1])
	}
	return contrast
}

// newResponse builds the surface of one probe from its points by read share.
func (m *Map) newResponse(probe string, groups [][]v1alpha1.ProbePoint) *response {
	slices.SortFunc(groups, func(a, b []v1alpha1.ProbePoint) int { return cmp.Compare(a[0].ReadShare, b[0].ReadShare) })
	r := &response{}
	var variance, count float64
	var bends []float64
	unpaced := true
	for _, group := range groups {
		var achieved, solo []knot
		var top float64
		driven := false
		for _, p := range group {
			repeats := float64(max(p.Repeats, 1))
			achieved = append(achieved, knot{p.AchievedBytesPerSecond, p.RelativeSpeed, repeats})
			solo = append(solo, knot{p.InterfererBytesPerSecond, p.RelativeSpeed, repeats})
			top = max(top, p.AchievedBytesPerSecond)
			driven = driven || p.Level >= unpacedLevel
			// The median of n normal values has at most π/2 ÷ n of their variance.
			spread := min(spreadOr(p.Spread, 0), 1)
			variance += spread * spread * math.Pi / 2 / repeats
			count++
		}
		share := group[0].ReadShare
		curve, moved := falling(achieved)
		if moved > solidMove {
			m.warnings = append(m.warnings, fmt.Sprintf(
				"probe map: %s at read share %v rises with traffic by up to %.0f%% of its speed and was smoothed; measure the machine again when it is quiet",
				probe, units.ReadShare(share), 200*moved))
		}
		bends = append(bends, curve.bends()...)
		soloCurve, _ := falling(solo)
		r.byAchieved.shares = append(r.byAchieved.shares, share)
		r.byAchieved.curves = append(r.byAchieved.curves, curve)
		r.bySolo.curves = append(r.bySolo.curves, soloCurve)
		r.ceiling.x = append(r.ceiling.x, share)
		r.ceiling.y = append(r.ceiling.y, top)
		unpaced = unpaced && driven
	}
	r.bySolo.shares = r.byAchieved.shares
	if !unpaced {
		r.ceiling = piecewise{}
	}
	variance /= count
	if len(bends) > 0 {
		// The error of a straight line grows with the square of its length.
		variance += floats.Dot(bends, bends) / float64(len(bends)) / 16
	}
	r.spread = max(leastMapSpread, math.Sqrt(variance))
	return r
}

// addToShare appends p to the group of its read share.
func addToShare(groups [][]v1alpha1.ProbePoint, p v1alpha1.ProbePoint) [][]v1alpha1.ProbePoint {
	for i, g := range groups {
		if math.Abs(g[0].ReadShare-p.ReadShare) < sameShare {
			groups[i] = append(g, p)
			return groups
		}
	}
	return append(groups, []v1alpha1.ProbePoint{p})
}

// regimesOf returns the known regimes of points, sorted.
func regimesOf(points []v1alpha1.ProbePoint) []string {
	regimes := map[string]bool{}
	for _, p := range points {
		if p.Regime != "" {
			regimes[p.Regime] = true
		}
	}
	return slices.Sorted(maps.Keys(regimes))
}

func distinctLevels(group []v1alpha1.ProbePoint) int {
	levels := map[float64]bool{}
	for _, p := range group {
		levels[p.InterfererBytesPerSecond] = true
	}
	return len(levels)
}

func sharesOf(points []v1alpha1.ProbePoint) []float64 {
	var groups [][]v1alpha1.ProbePoint
	for _, p := range points {
		groups = addToShare(groups, p)
	}
	shares := make([]float64, len(groups))
	for i, g := range groups {
		shares[i] = g[0].ReadShare
	}
	slices.Sort(shares)
	return shares
}

// boundOf is the highest bandwidth an application can have, by read share.
func boundOf(points []v1alpha1.ProbePoint, sustained []v1alpha1.SustainedBandwidth) piecewise {
	var knots []knot
	add := func(share, rate float64) {
		for i := range knots {
			if math.Abs(knots[i].x-share) < sameShare {
				knots[i].y = max(knots[i].y, rate)
				return
			}
		}
		knots = append(knots, knot{x: share, y: rate, weight: 1})
	}
	for _, s := range sustained {
		if s.Pattern == "" || s.Pattern == "sequential" {
			add(s.ReadShare, s.BytesPerSecond)
		}
	}
	estimate := len(knots) == 0
	for _, p := range points {
		rate := max(p.InterfererBytesPerSecond, p.AchievedBytesPerSecond)
		if estimate {
			rate = max(rate, p.InterfererBytesPerSecond/p.Level)
		}
		add(p.ReadShare, rate)
	}
	var bound piecewise
	for _, k := range mergeEqual(knots) {
		bound.x = append(bound.x, k.x)
		bound.y = append(bound.y, boundMargin*k.y)
	}
	return bound
}

func checkPoints(points []v1alpha1.ProbePoint) error {
	var faults []error
	for i, p := range points {
		fault := func(field string, v any, want string) {
			faults = append(faults, fmt.Errorf("probeMap[%d].%s: %v: want %s", i, field, v, want))
		}
		if p.Probe == "" {
			fault("probe", `""`, "the name of a probe")
		}
		if !units.ReadShare(p.ReadShare).Valid() {
			fault("readShare", p.ReadShare, "0 to 1")
		}
		if !(p.Level >= 0.001 && p.Level <= 1) {
			fault("level", p.Level, "0.001 to 1")
		}
		if !rate(p.InterfererBytesPerSecond) {
			fault("interfererBytesPerSecond", p.InterfererBytesPerSecond, "1 to 1e15")
		}
		if !rate(p.AchievedBytesPerSecond) {
			fault("achievedBytesPerSecond", p.AchievedBytesPerSecond, "1 to 1e15")
		}
		if !ratio(p.RelativeSpeed) {
			fault("relativeSpeed", p.RelativeSpeed, "above 0 to 2")
		}
		if p.Spread != nil && !deviation(*p.Spread) {
			fault("spread", *p.Spread, "a finite number of 0 or more")
		}
	}
	return errors.Join(faults...)
}

func checkSustained(sustained []v1alpha1.SustainedBandwidth) error {
	var faults []error
	for i, s := range sustained {
		if !units.ReadShare(s.ReadShare).Valid() {
			faults = append(faults, fmt.Errorf("sustained[%d].readShare: %v: want 0 to 1", i, s.ReadShare))
		}
		if !rate(s.BytesPerSecond) {
			faults = append(faults, fmt.Errorf("sustained[%d].bytesPerSecond: %v: want 1 to 1e15", i, s.BytesPerSecond))
		}
	}
	return errors.Join(faults...)
}

func rate(v float64) bool { return v >= leastRate && v <= greatestRate }

// GridPoint is one setting of the interferer in the calibration of a machine.
type GridPoint struct {
	ReadShare units.ReadShare
	// Level is the share of the sustained bandwidth at that read share, above 0
	// to 1; 1 is unpaced.
	Level float64
	// Repeats is how often every probe is sampled beside this setting.
	Repeats int
}

// CalibrationGrid returns the interferer's settings for a probe map. Every one of
// [Probes] is run beside each of them.
//
// The levels are dense below 55%, where probes lose their speed, and end at 1,
// which bounds what an application can achieve beside a probe. At 1.5% noise per
// sample, both grids infer total bandwidth to 9–10% of a simulated machine's
// maximum (root mean square); twenty times as many samples reach 9.0%. The repeats
// of the full grid make its medians robust against a disturbed sample.
//
// The probe alone is sampled once for every two samples beside a point, because
// its speed alone drifts too. At 100 ms per sample the full grid takes 14.4 s and
// the quick one 3.6 s.
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
