package page

import (
	"context"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/pairing"
	"bandmate.dev/bandmate/units"
)

// mostPaired is up to how many applications are paired: the time of the best
// pairing grows with the cube.
const mostPaired = 200

// Collect returns the content of a report on applications and a machine. No names
// mean all applications, an empty machine all machines. A profile that cannot be
// read or is not sound is a warning where all are meant, and an error where it is
// named.
func Collect(ctx context.Context, a *advisor.Advisor, names []string, machine string) (Content, error) {
	var c Content
	entries, faults, err := a.Select(names, machine)
	if err != nil {
		return c, err
	}
	for _, fault := range slices.Concat(faults, a.Broken()) {
		c.Warnings = append(c.Warnings, fault.Error())
	}
	c.Warnings = append(c.Warnings, advisor.Warnings(entries)...)
	c.Machines = slices.DeleteFunc(a.Machines(), func(m *v1alpha1.MachineProfile) bool {
		return machine != "" && m.Name != machine
	})
	g, err := a.Group(ctx, entries, predictor.Default)
	if err != nil {
		return c, err
	}
	c.Applications, c.Predictors = g.Profiles(), g.Applications()
	c.Pairing, err = pairUp(ctx, g)
	return c, err
}

// pairUp returns the best pairing of a group; nil where there is nothing to pair, it
// would take too long, a slowdown is not known, or an application is there for several
// machines.
func pairUp(ctx context.Context, g *advisor.Group) (*Pairing, error) {
	incomplete := func(e advisor.Entry) bool {
		sensitive, contentious := e.Application.Known()
		return !sensitive || !contentious
	}
	n := len(g.Entries)
	if n < 2 || n > mostPaired || slices.ContainsFunc(g.Entries, incomplete) || advisor.OneEach(g.Entries) != nil {
		return nil, nil //nolint:nilnil,nilerr // there is no pairing
	}
	slowdowns, err := g.Slowdowns(ctx, g)
	if err != nil {
		return nil, err
	}
	c, err := pairing.Compare(ctx, pairing.Problem{
		Jobs:      len(slowdowns),
		Slowdowns: func(i, j int) (ofI, ofJ units.Slowdown) { return slowdowns[i][j], slowdowns[j][i] },
	})
	if err != nil {
		return nil, fmt.Errorf("pairing %d applications: %w", len(slowdowns), err)
	}
	found := &Pairing{Pairs: [][2]int{}, Alone: []int{}, Total: c.Optimal.Total, Greedy: c.Greedy.Total, Random: c.Random}
	for i, j := range c.Optimal.Partner {
		switch {
		case j == pairing.Alone:
			found.Alone = append(found.Alone, i)
		case i < j:
			found.Pairs = append(found.Pairs, [2]int{i, j})
		}
	}
	return found, nil
}
