package score

import (
	"errors"
	"fmt"
	"sync/atomic"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Load is a domain prepared for being asked about many newcomers. To its users it
// is immutable, and it is safe for concurrent use.
type Load struct {
	domain Domain
	apps   []*predictor.Application // residents, then the background if any
	// before are the performances without a newcomer, predicted when first asked
	// for: whoever only estimates does not need them.
	before atomic.Pointer[[]units.NormalizedPerformance]
	// busy is what everyone there transfers, slowed down as they are; for added.
	busy  units.Traffic
	added addedTable
	// network is what the residents exchange together: stretch is weighed by
	// their CPUs, or for WorstSlowdown the most of one.
	network exchange
	crowd   *crowd // nil where no model describes everyone
}

// Residents returns who is there. The caller must not change it.
func (l *Load) Residents() []Job { return l.domain.Residents }

// exchange counts what one of the applications exchanges.
func (l *Load) exchange(i int, x exchange, o Objective) {
	l.network.busy += x.busy
	switch {
	case i >= len(l.domain.Residents):
	case o == WorstSlowdown:
		l.network.stretch = max(l.network.stretch, x.stretch)
	default:
		l.network.stretch += x.stretch * float32(l.domain.Residents[i].CPUs)
	}
}

// cardOf returns the network card of an application of the load; that of the
// background does not matter.
func (l *Load) cardOf(i int) string {
	if i < len(l.domain.Residents) {
		return l.domain.Residents[i].Card
	}
	return ""
}

// Prepare prepares a domain. It fails on residents or a background that nobody
// could be.
func (s *Scorer) Prepare(d Domain) (*Load, error) {
	var faults []error
	for _, r := range d.Residents {
		faults = append(faults, r.validate())
	}
	if b := d.Background; b != nil && !(b.Read.Valid() && b.Write.Valid()) {
		faults = append(faults, fmt.Errorf("domain %s: background of %+v: want finite rates of 0 or more", d.Name, *b))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	l := &Load{domain: d, apps: make([]*predictor.Application, 0, len(d.Residents)+1)}
	options := s.options
	if d.Background != nil && options.Unknown == Assume {
		options.Unknown = Ignore
	}
	for _, r := range d.Residents {
		l.apps = append(l.apps, options.application(r))
	}
	if d.Background != nil && d.Background.Total() > 0 {
		background, err := Assumed("background", *d.Background)
		if err != nil {
			return nil, fmt.Errorf("domain %s: %w", d.Name, err)
		}
		l.apps = append(l.apps, background)
	}
	for i, a := range l.apps {
		l.exchange(i, exchangeOf(a), s.options.Objective)
	}
	return l, nil
}

// performances returns those of a load's applications without a newcomer. Two that
// ask at the same time both predict; nobody waits.
func (s *Scorer) performances(l *Load) []units.NormalizedPerformance {
	if before := l.before.Load(); before != nil {
		return *before
	}
	var before []units.NormalizedPerformance
	if len(l.apps) > 0 {
		before = s.workspace.MemoryPerformances(make([]units.NormalizedPerformance, 0, len(l.apps)), l.apps)
		s.workspace.Communicate(before, l.apps, l.cardOf)
	}
	l.before.Store(&before)
	return before
}

// Assumed makes an application of which only the traffic is known, or assumed:
// it presses on others and counts as undisturbed itself. It fails on rates that
// are none.
func Assumed(name string, traffic units.Traffic) (*predictor.Application, error) {
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond: float64(traffic.Read), WriteBytesPerSecond: float64(traffic.Write), Source: "assumed",
	}
	return predictor.Compile(p)
}

// Background returns what is left of a measurement of a whole domain when the
// traffic that its residents are known to cause alone is taken away, reads and
// writes each, never below zero. Residents that slow each other down cause less
// than alone, so that the rest is rather too small than too large.
func Background(measured units.Traffic, residents []Job) units.Traffic {
	for _, r := range residents {
		if r.Application == nil {
			continue
		}
		traffic, _ := r.Application.Contentiousness()
		measured.Read = max(measured.Read-traffic.Read, 0)
		measured.Write = max(measured.Write-traffic.Write, 0)
	}
	return measured
}
