package profiler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// Estimate is the traffic inferred from readings of probes.
type Estimate struct {
	// Traffic is the posterior mean of the application's traffic alone. Its total
	// is above zero even where no effect was seen; High then is the upper bound.
	Traffic units.Traffic
	// Low and High bound the 90% interval of the total.
	Low, High units.Bandwidth
	// RelativeUncertainty is how far the farther of Low and High is from the total,
	// ÷ the total. It exceeds 1 where the traffic may be zero.
	RelativeUncertainty float64
	// ReadShareKnown is false where the readings fit every read share of the
	// map about equally. Traffic is then split by the mean of the map's read
	// shares, by convention.
	ReadShareKnown bool
	// ReadShareUncertainty is the half width of the 90% interval of the read
	// share.
	ReadShareUncertainty float64
	// Residual is the root mean square difference between observed and
	// predicted relative speed at the best fit. A value far above the noise, about
	// 0.02, means that the application's accesses are unlike the interferer's.
	Residual float64
	// Saturated is true where the readings set no upper limit below that of
	// the machine: the application may have any bandwidth above Low.
	Saturated bool
	// Warnings are doubts about the estimate.
	Warnings []string
}

// Contentiousness returns e in the form of a profile. Where the read share is
// unknown, its uncertainty spans the read shares of the map.
func (e Estimate) Contentiousness() v1alpha1.Contentiousness {
	return v1alpha1.Contentiousness{
		ReadBytesPerSecond:   float64(e.Traffic.Read),
		WriteBytesPerSecond:  float64(e.Traffic.Write),
		Source:               ProbeName,
		RelativeUncertainty:  &e.RelativeUncertainty,
		ReadShareUncertainty: &e.ReadShareUncertainty,
	}
}

const (
	// Resolution of the search: bandwidths × read shares.
	bandwidthCells, shareCells = 400, 40
	// quiet is the part of the highest bandwidth below which all bandwidths are equally
	// likely before any reading. Above it all magnitudes are: as many applications have
	// 1 to 2% of the bandwidth as have 10 to 20%. Then 21% of them have less than 1%, 57%
	// less than 10% and 87% less than half. Of 20 benchmarks on a Xeon Gold 5218 (SPEC
	// CPU2017 and others, the profiles of PROFET) it was 15, 55 and 75% of the most that
	// one of them moves.
	quiet = 0.005
	// ceilingSoftness is the relative standard deviation by which an application
	// may achieve more beside a probe than the interferer did.
	ceilingSoftness = 0.15
	// noEffect is the drop of −2 ln likelihood up to which zero traffic is not
	// rejected at the one-sided 95% level (χ², one degree of freedom).
	noEffect = 2.71
	// conflict is the reduced χ² above which the best fit is called poor.
	conflict = 4
)

// Infer estimates the bandwidth and read share of an application from readings of
// one or more probes.
//
// Beside a probe the application has n times its traffic, where n is its
// normalized performance there. A total bandwidth B at read share r predicts that
// the probe keeps the speed of the map at (n·B, r). B lies between zero and 1.15
// times the sustained bandwidth; n·B lies softly below what the interferer achieved
// beside the probe. Infer weighs every (B, r) by its likelihood under normal noise
// in the reading, the map and n, and by how common such a B is: little traffic is more
// common than much. The estimate is the mean of that posterior, the intervals are its 5%
// and 95% quantiles. Where the best fit is poor, all noise is scaled up (Birge 1932), so
// conflicting readings yield wide intervals.
//
// Readings of one probe count as independent: pass the median of repeats as one
// reading, with its spread. Readings of probes that the map lacks are left out with
// a warning. The error joins the faults of all readings; it is not nil if no
// reading is usable.
func (m *Map) Infer(readings []ProbeReading) (Estimate, error) {
	observed, unknown, err := m.observations(readings)
	if err != nil {
		return Estimate{}, fmt.Errorf("infer traffic: %w", err)
	}
	p := m.posterior(observed)
	e := m.summarize(p)
	if len(unknown) > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("left out readings of probes that the machine's map lacks: %s", strings.Join(unknown, ", ")))
	}
	if slices.ContainsFunc(observed, func(o observation) bool { return o.performance == nil }) {
		e.Warnings = append(e.Warnings, "the application's own performance beside a probe is unknown: its bandwidth is underestimated where it gives way more than an interferer does")
	}
	e.Warnings = append(e.Warnings, m.warnings...)
	return e, nil
}

// observation is a reading with the response it is compared to.
type observation struct {
	*response
	speed       float64
	performance *float64
	// variance is that of the reading and of the map, without that of the
	// application's performance.
	variance float64
	// performanceSpread is relative to the performance.
	performanceSpread float64
}

func (m *Map) observations(readings []ProbeReading) (observed []observation, unknown []string, err error) {
	var faults []error
	for _, r := range readings {
		if err := r.Validate(); err != nil {
			faults = append(faults, err)
			continue
		}
		resp, ok := m.probes[r.Probe]
		if !ok {
			if !slices.Contains(unknown, r.Probe) {
				unknown = append(unknown, r.Probe)
			}
			continue
		}
		spread := min(spreadOr(r.Spread, leastSpread), 1)
		o := observation{
			response:    resp,
			speed:       r.RelativeSpeed,
			performance: r.ApplicationPerformance,
			variance:    spread*spread + resp.spread*resp.spread,
		}
		if n := r.ApplicationPerformance; n != nil {
			s := spreadOr(r.ApplicationSpread, leastSpread)
			o.performanceSpread = min(s / *n, 1)
		}
		observed = append(observed, o)
	}
	if len(faults) == 0 && len(observed) == 0 {
		faults = append(faults, fmt.Errorf("no reading of a probe in the map (%s); run the application beside at least one of them",
			strings.Join(m.Probes(), ", ")))
	}
	return observed, unknown, errors.Join(faults...)
}

// fit returns the squared standardized difference of o to what (bandwidth,
// share) predicts, the difference itself, and the whole −2 ln likelihood.
func (o observation) fit(bandwidth, share float64) (chi2, difference, cost float64) {
	variance := o.variance
	var predicted float64
	if o.performance == nil {
		predicted = o.bySolo.at(bandwidth, share)
	} else {
		achieved := bandwidth * *o.performance
		predicted = o.byAchieved.at(achieved, share)
		reach := achieved * o.performanceSpread
		slope := (o.byAchieved.at(achieved-reach, share) - o.byAchieved.at(achieved+reach, share)) / 2
		variance += slope * slope
		if len(o.ceiling.x) > 0 {
			if excess := achieved/o.ceiling.at(share) - 1; excess > 0 {
				z := excess / ceilingSoftness
				cost += z * z
			}
		}
	}
	difference = o.speed - predicted
	chi2 = difference * difference / variance
	return chi2, difference, cost + chi2 + math.Log(variance/o.variance)
}

// posterior is the weight of every total bandwidth and of every read share.
type posterior struct {
	// top is the highest bandwidth of all read shares; cell i of bandwidths
	// covers i to i+1 parts of it.
	top        float64
	bandwidths []float64
	// shares are the centers of the cells of shareWeights.
	shares, shareWeights []float64
	// At the best fit: the root mean square difference, χ² per degree of
	// freedom.
	residual, reduced float64
	// silence is how much worse than the best fit no traffic is, in
	// −2 ln likelihood.
	silence float64
	// beyond is the weight within 5% of the upper bound, lowest that of the
	// lowest tenth of the read shares.
	beyond, lowest float64
}

func (m *Map) posterior(observed []observation) posterior {
	p := posterior{bandwidths: make([]float64, bandwidthCells)}
	p.shares, p.shareWeights = m.shareGrid()
	for _, share := range p.shares {
		p.top = max(p.top, m.bound.at(share))
	}
	costs := make([]float64, len(p.shares)*bandwidthCells)
	best, silence := math.Inf(1), math.Inf(1)
	for j, share := range p.shares {
		bound := m.bound.at(share)
		for i := range bandwidthCells {
			bandwidth := (float64(i) + 0.5) / bandwidthCells * p.top
			cost := math.Inf(1)
			if bandwidth <= bound {
				var chi2, squares float64
				cost, chi2, squares = total(observed, bandwidth, share)
				if cost < best {
					best = cost
					p.reduced = chi2 / float64(max(1, len(observed)-2))
					p.residual = math.Sqrt(squares / float64(len(observed)))
				}
			}
			costs[j*bandwidthCells+i] = cost
		}
		none, _, _ := total(observed, 0, share)
		silence = min(silence, none)
	}
	widening := max(1, p.reduced)
	p.silence = (silence - best) / widening
	for j, share := range p.shares {
		bound := m.bound.at(share)
		for i := range bandwidthCells {
			part := (float64(i) + 0.5) / bandwidthCells
			w := math.Exp(-(costs[j*bandwidthCells+i]-best)/widening/2) / (part + quiet)
			p.bandwidths[i] += w
			p.shareWeights[j] += w
			if part*p.top > 0.95*bound {
				p.beyond += w
			}
		}
	}
	whole := floats.Sum(p.bandwidths)
	p.beyond /= whole
	p.lowest = floats.Sum(p.shareWeights[:len(p.shares)/10]) / whole
	return p
}

// shareGrid returns the centers of the cells of the read share, and their
// weights to be filled. A map of one read share has one cell.
func (m *Map) shareGrid() (shares, weights []float64) {
	low, high := m.shares[0], m.shares[len(m.shares)-1]
	cells := shareCells
	if len(m.shares) == 1 {
		cells = 1
	}
	shares = make([]float64, cells)
	for j := range shares {
		shares[j] = low + (float64(j)+0.5)/float64(cells)*(high-low)
	}
	return shares, make([]float64, cells)
}

func total(observed []observation, bandwidth, share float64) (cost, chi2, squares float64) {
	for _, o := range observed {
		c, d, whole := o.fit(bandwidth, share)
		chi2 += c
		squares += d * d
		cost += whole
	}
	return cost, chi2, squares
}

func (m *Map) summarize(p posterior) Estimate {
	cell := p.top / bandwidthCells
	var mean float64
	for i, w := range p.bandwidths {
		mean += w * (float64(i) + 0.5) * cell
	}
	mean /= floats.Sum(p.bandwidths)
	var share float64
	for j, w := range p.shareWeights {
		share += w * p.shares[j]
	}
	share = min(max(share/floats.Sum(p.shareWeights), m.shares[0]), m.shares[len(m.shares)-1])
	low, high := quantile(p.bandwidths, 0.05)*cell, quantile(p.bandwidths, 0.95)*cell
	// The mean of a skewed weight can lie outside the interval, and that of a
	// bound that is not concave above it.
	mean = min(max(min(mean, m.bound.at(share)), low), high)
	e := Estimate{
		Traffic:             units.TrafficOf(units.Bandwidth(mean), units.ReadShare(share)),
		Low:                 units.Bandwidth(low),
		High:                units.Bandwidth(high),
		RelativeUncertainty: max(high-mean, mean-low) / mean,
		Residual:            p.residual,
		Saturated:           p.beyond >= 0.05,
	}
	m.judgeShare(&e, p)
	e.Warnings = m.judge(e, p)
	return e
}

// judgeShare sets ReadShareKnown and ReadShareUncertainty.
func (m *Map) judgeShare(e *Estimate, p posterior) {
	if len(p.shares) == 1 {
		// Nothing is known beside what the map assumes.
		e.ReadShareUncertainty = 0.5
		return
	}
	span := m.shares[len(m.shares)-1] - m.shares[0]
	width := (quantile(p.shareWeights, 0.95) - quantile(p.shareWeights, 0.05)) / float64(len(p.shares))
	e.ReadShareUncertainty = width * span / 2
	// Without any information the 90% interval is 0.9 wide.
	e.ReadShareKnown = width < 0.75
}

func (m *Map) judge(e Estimate, p posterior) []string {
	var warnings []string
	if p.silence < noEffect {
		warnings = append(warnings, fmt.Sprintf("no effect on the probes: the traffic is at most %v", e.High))
	}
	if e.Saturated {
		warnings = append(warnings, fmt.Sprintf("the probes are saturated: the traffic is at least %v and may reach the machine's maximum", e.Low))
	}
	if !e.ReadShareKnown {
		warnings = append(warnings, "the read share is unknown; reads and writes are split by the mean of the calibrated read shares")
	}
	if low, _ := m.ReadShares(); e.ReadShareKnown && low > sameShare && p.lowest > 0.25 {
		warnings = append(warnings, fmt.Sprintf("the read share may be below %v, the lowest calibrated one: the traffic is equivalent, not actual, where the application stores past the caches", low))
	}
	if p.reduced > conflict {
		warnings = append(warnings, fmt.Sprintf("the probes disagree by %.1f points beyond noise: the application's accesses are unlike a stream's, or the machine was not quiet", 100*e.Residual))
	}
	return warnings
}

// quantile returns where the cumulative weight reaches q of the whole, in cells
// from the start, interpolated within a cell.
func quantile(weights []float64, q float64) float64 {
	target := q * floats.Sum(weights)
	var below float64
	for i, w := range weights {
		if below+w >= target && w > 0 {
			return float64(i) + (target-below)/w
		}
		below += w
	}
	return float64(len(weights))
}
