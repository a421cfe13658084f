package cli

import (
	"encoding/binary"
	"fmt"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
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
	// Measured is a date in UTC, as in the file; empty for one that is not known.
	Measured string
}

// ListedOf returns what a list says of p.
func ListedOf(p *v1alpha1.ApplicationProfile) Listed {
	c := p.Spec.Contentiousness
	l := Listed{
		Name: v1alpha1.ApplicationOf(p), Machine: p.Spec.Machine.Name, Source: c.Source, Worst: 1,
		Traffic: units.Traffic{Read: units.Bandwidth(c.ReadBytesPerSecond), Write: units.Bandwidth(c.WriteBytesPerSecond)},
	}
	if t := p.Spec.Measurement.Time; !t.IsZero() {
		l.Measured = t.UTC().Format(time.DateOnly)
	}
	for _, curve := range p.Spec.Curves {
		for _, point := range curve.Points {
			l.Worst = max(l.Worst, max(units.NormalizedPerformance(point.NormalizedPerformance), curves.Floor).Slowdown())
		}
	}
	return l
}

// summarize returns what an index of the store holds of a profile: the length of what
// advisor.NewProfile takes, that, and what is listed.
func summarize(p *v1alpha1.ApplicationProfile) []byte {
	known, l := advisor.Summarize(p), ListedOf(p)
	listed, err := plain.Marshal(&l)
	if err != nil {
		return nil // divided refuses it
	}
	return append(append(binary.AppendUvarint(nil, uint64(len(known))), known...), listed...)
}

// divided returns the parts of a summary.
func divided(p *store.Indexed) (known, listed []byte, err error) {
	length, n := binary.Uvarint(p.Summary)
	if n <= 0 || length > uint64(len(p.Summary)-n) {
		return nil, nil, fmt.Errorf("profile %s: no summary", p.Name)
	}
	rest := p.Summary[n:]
	return rest[:length], rest[length:], nil
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
		_, listed, err := divided(p)
		var l Listed
		if err == nil {
			err = plain.Unmarshal(listed, &l)
		}
		if err != nil {
			broken = append(broken, err)
			continue
		}
		all = append(all, l)
	}
	return all, broken, nil
}
