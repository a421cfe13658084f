package pressure

import (
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/units"
)

// Sliced sums up slices of pressure. The zero value is empty.
type Sliced struct {
	slices  []launch.Span
	seconds float64
	bytes   units.Traffic // per second, times seconds
}

// Add adds a slice, in which the interferer achieved a.
func (p *Sliced) Add(slice launch.Span, a interferer.Achieved) {
	p.slices = append(p.slices, slice)
	p.seconds += a.Elapsed.Seconds()
	p.bytes = p.bytes.Add(a.Traffic.Scale(a.Elapsed.Seconds()))
}

// During returns how much of the runs was pressed.
func (p *Sliced) During(runs []launch.Span) time.Duration {
	var sum time.Duration
	for _, slice := range p.slices {
		for _, run := range runs {
			sum += slice.Overlap(run)
		}
	}
	return sum
}

// Achieved returns the whole time and the mean traffic of the slices.
func (p *Sliced) Achieved() interferer.Achieved {
	if p.seconds <= 0 {
		return interferer.Achieved{}
	}
	return interferer.Achieved{
		Elapsed: time.Duration(p.seconds * float64(time.Second)), Traffic: p.bytes.Scale(1 / p.seconds),
	}
}
