package fast

import (
	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Pairs estimates pairs of many applications by their traffic tables, without
// what they exchange with each other over a network. It is immutable and safe for
// concurrent use.
type Pairs struct{ responses []response }

// NewPairs tabulates applications, on all CPUs.
func NewPairs(apps []*predictor.Application) *Pairs {
	p := &Pairs{make([]response, len(apps))}
	parallel.Each(len(apps), func(i int) { p.responses[i] = New(apps[i]).response })
	return p
}

// Row appends to dst the normalized performance of application i beside each
// application in turn, a second instance of itself included.
func (p *Pairs) Row(dst []units.NormalizedPerformance, i int) []units.NormalizedPerformance {
	for j := range p.responses {
		dst = append(dst, p.At(i, j))
	}
	return dst
}

// At returns the normalized performance of application i beside application j.
func (p *Pairs) At(i, j int) units.NormalizedPerformance {
	own, other := &p.responses[i], &p.responses[j]
	low := own.held(other.traffic, other.column)
	slowed := other.held(own.traffic, own.column)
	high := own.held(other.traffic*slowed, other.column)
	return units.NormalizedPerformance((low + high) / 2)
}
