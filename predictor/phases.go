package predictor

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// phase is a part of a solo run with steady traffic, relative to the mean.
type phase struct {
	timeShare float64 // of the solo time, above 0; the phases add up to 1
	// read and write are this phase's rates ÷ the mean rates of the run.
	read, write float64
	// total is this phase's total bandwidth ÷ the mean total of the run.
	total float64
}

// steady is the single phase of an application without any that differ.
var steady = [1]phase{{timeShare: 1, read: 1, write: 1, total: 1}}

// of returns the traffic of the phase of an application with this mean.
func (p *phase) of(mean units.Traffic) units.Traffic {
	return units.Traffic{
		Read:  mean.Read * units.Bandwidth(p.read),
		Write: mean.Write * units.Bandwidth(p.write),
	}
}

// Limits on phases: what a prediction costs grows with their product.
const (
	maxPhases = 3
	// maxBins is how many bandwidth levels a time line is reduced to before it
	// is divided into phases.
	maxBins = 64
	// steadyVariation is the standard deviation ÷ mean of bandwidth within the
	// phases below which more of them would say nothing.
	steadyVariation = 0.1
)

// sample is a stretch of time with its mean traffic.
type sample struct {
	seconds float64
	traffic units.Traffic
}

// compilePhases takes the phases of the profile, or else divides its time line
// into at most maxPhases bandwidth levels.
func compilePhases(spec *v1alpha1.ApplicationProfileSpec) ([]phase, error) {
	samples, err := phaseSamples(spec.Phases)
	if len(samples) == 0 && err == nil {
		samples, err = timelineSamples(spec.Contentiousness.Timeline)
	}
	if err != nil {
		return nil, err
	}
	return relative(divide(samples)), nil
}

func phaseSamples(phases []v1alpha1.Phase) ([]sample, error) {
	var samples []sample
	var faults []error
	for i, p := range phases {
		s := sample{p.TimeShare, units.Traffic{
			Read: units.Bandwidth(p.ReadBytesPerSecond), Write: units.Bandwidth(p.WriteBytesPerSecond),
		}}
		if err := s.validate(); err != nil {
			faults = append(faults, fmt.Errorf("spec.phases[%d]: %w", i, err))
		}
		samples = append(samples, s)
	}
	return samples, errors.Join(faults...)
}

func timelineSamples(timeline []v1alpha1.TrafficSample) ([]sample, error) {
	var samples []sample
	var faults []error
	var start float64
	for i, t := range timeline {
		s := sample{t.Seconds - start, units.Traffic{
			Read: units.Bandwidth(t.ReadBytesPerSecond), Write: units.Bandwidth(t.WriteBytesPerSecond),
		}}
		if err := s.validate(); err != nil {
			faults = append(faults, fmt.Errorf("spec.contentiousness.timeline[%d]: %w", i, err))
		}
		start = t.Seconds
		samples = append(samples, s)
	}
	return samples, errors.Join(faults...)
}

func (s sample) validate() error {
	if !(s.seconds > 0) || math.IsInf(s.seconds, 0) {
		return fmt.Errorf("duration %v: want a finite time above 0", s.seconds)
	}
	if !s.traffic.Read.Valid() || !s.traffic.Write.Valid() {
		return fmt.Errorf("traffic %+v: want finite rates of 0 or more", s.traffic)
	}
	return nil
}

// merge returns the mean of samples over their time.
func merge(samples []sample) sample {
	var sum sample
	for _, s := range samples {
		sum.seconds += s.seconds
		sum.traffic = sum.traffic.Add(s.traffic.Scale(s.seconds))
	}
	sum.traffic = sum.traffic.Scale(1 / sum.seconds)
	return sum
}

// divide groups samples into the fewest levels of bandwidth, at most
// maxPhases, whose variation within is below steadyVariation. The groups
// minimize the squared deviation from their means: with one dimension and
// sorted samples, the optimum is found by dynamic programming over the cuts.
func divide(samples []sample) []sample {
	if len(samples) == 0 {
		return nil
	}
	sorted := slices.Clone(samples)
	slices.SortStableFunc(sorted, func(a, b sample) int {
		return cmp.Compare(a.traffic.Total(), b.traffic.Total())
	})
	bins := bin(sorted)
	mean := float64(merge(bins).traffic.Total())
	if mean == 0 {
		return []sample{merge(bins)}
	}
	cost := deviations(bins)
	best := make([][]float64, maxPhases+1) // best[k][j]: bins[:j] in k groups
	cut := make([][]int, maxPhases+1)
	for k := 1; k <= maxPhases; k++ {
		best[k], cut[k] = make([]float64, len(bins)+1), make([]int, len(bins)+1)
		for j := range len(bins) + 1 {
			if k == 1 {
				best[k][j] = cost(0, j)
				continue
			}
			best[k][j], cut[k][j] = best[k-1][j], j
			for i := range j {
				if c := best[k-1][i] + cost(i, j); c < best[k][j] {
					best[k][j], cut[k][j] = c, i
				}
			}
		}
	}
	groups := 1
	total := merge(bins).seconds
	for groups < maxPhases && math.Sqrt(best[groups][len(bins)]/total) > steadyVariation*mean {
		groups++
	}
	var phases []sample
	for end := len(bins); groups > 0; groups-- {
		start := cut[groups][end]
		if start < end {
			phases = append(phases, merge(bins[start:end]))
		}
		end = start
	}
	slices.Reverse(phases)
	return phases
}

// bin merges sorted samples into at most maxBins ranges of equal width in
// bandwidth, so that no bin straddles two levels that lie apart.
func bin(sorted []sample) []sample {
	lowest := sorted[0].traffic.Total()
	width := (sorted[len(sorted)-1].traffic.Total() - lowest) / maxBins
	if len(sorted) <= maxBins || width == 0 {
		return sorted
	}
	var bins []sample
	for start, i := 0, 1; i <= len(sorted); i++ {
		if i < len(sorted) && int((sorted[i].traffic.Total()-lowest)/width) == int((sorted[start].traffic.Total()-lowest)/width) {
			continue
		}
		bins = append(bins, merge(sorted[start:i]))
		start = i
	}
	return bins
}

// deviations returns a function that gives the squared deviation of the
// bandwidth of bins[i:j] from its mean, times time.
func deviations(bins []sample) func(i, j int) float64 {
	time, sum, squares := make([]float64, len(bins)+1), make([]float64, len(bins)+1), make([]float64, len(bins)+1)
	for i, s := range bins {
		b := float64(s.traffic.Total())
		time[i+1] = time[i] + s.seconds
		sum[i+1] = sum[i] + s.seconds*b
		squares[i+1] = squares[i] + s.seconds*b*b
	}
	return func(i, j int) float64 {
		if i == j {
			return 0
		}
		t, s := time[j]-time[i], sum[j]-sum[i]
		return max(squares[j]-squares[i]-s*s/t, 0)
	}
}

// relative expresses phases relative to their mean.
func relative(samples []sample) []phase {
	if len(samples) < 2 {
		return steady[:]
	}
	mean := merge(samples)
	ratio := func(part, whole units.Bandwidth) float64 {
		if whole == 0 {
			return 1
		}
		return float64(part / whole)
	}
	phases := make([]phase, len(samples))
	for i, s := range samples {
		phases[i] = phase{
			timeShare: s.seconds / mean.seconds,
			read:      ratio(s.traffic.Read, mean.traffic.Read),
			write:     ratio(s.traffic.Write, mean.traffic.Write),
			total:     ratio(s.traffic.Total(), mean.traffic.Total()),
		}
	}
	return phases
}
