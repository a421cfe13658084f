package cli

import (
	"fmt"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/plain"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

// Listed is what a list says of a profile.
type Listed struct {
	Name, Machine string
	Traffic       units.Traffic
	// Worst is the largest slowdown measured under the interferer.
	Worst  units.Slowdown
	Source string
	// Measured is a date; empty for one that is not known.
	Measured string
}

// ListedOf returns what a list says of p.
func ListedOf(p *v1alpha1.ApplicationProfile) Listed {
	c := p.Spec.Contentiousness
	l := Listed{
		Name: p.Name, Machine: p.Spec.Machine.Name, Source: c.Source, Worst: 1,
		Traffic: units.Traffic{Read: units.Bandwidth(c.ReadBytesPerSecond), Write: units.Bandwidth(c.WriteBytesPerSecond)},
	}
	if t := p.Spec.Measurement.Time; !t.IsZero() {
		l.Measured = t.Format(time.DateOnly)
	}
	for _, curve := range p.Spec.Curves {
		for _, point := range curve.Points {
			l.Worst = max(l.Worst, units.NormalizedPerformance(point.NormalizedPerformance).Slowdown())
		}
	}
	return l
}

// summary is what an index of the store holds of a profile.
type summary struct {
	advisor string // for advisor.NewProfile
	listed  Listed
}

func summarize(p *v1alpha1.ApplicationProfile) []byte {
	s := summary{string(advisor.Summarize(p)), ListedOf(p)}
	data, err := plain.Marshal(&s)
	if err != nil {
		return nil // summaryOf refuses it
	}
	return data
}

func summaryOf(p *store.Indexed) (summary, error) {
	var s summary
	if err := plain.Unmarshal(p.Summary, &s); err != nil {
		return s, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return s, nil
}

// List returns what a list says of every profile of an application in the store, and the
// errors of files that cannot be read.
func (a *App) List() (all []Listed, broken []error, err error) {
	index, _, err := a.loadIndex()
	if err != nil {
		return nil, nil, err
	}
	broken = index.Broken
	for _, p := range index.Applications {
		s, err := summaryOf(p)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		all = append(all, s.listed)
	}
	return all, broken, nil
}
