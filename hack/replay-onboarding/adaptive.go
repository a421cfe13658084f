package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves/design"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// way is a way to onboard an application: it fills in its curves and says what
// all runs took, in solo times, and how many there were.
type way struct {
	name    string
	onboard func(*oracle, []design.Supply) (family, outlay, error)
}

// outlay is what onboarding an application took.
type outlay struct {
	cost float64
	runs int
}

func ways() []way {
	return []way{
		{"2 × 4, one run each", gridOnce},
		{"2 × 4, 2 runs, progress watched", gridWatched},
		{"adaptive", adaptive},
		{"adaptive, traffic not counted", adaptiveUncounted},
	}
}

// levels are those that may be measured, of the simulated ones.
func levels() []float64 { return []float64{0.28, 0.4, 0.52, 0.64, 0.76, 0.88, 1} }

func readShares() []units.ReadShare { return []units.ReadShare{0.5, 0.75, 1} }

// grid is the paper's: four levels at 50% and 100% reads.
func grid() []design.Setting {
	var all []design.Setting
	for _, share := range []units.ReadShare{0.5, 1} {
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			all = append(all, design.Setting{ReadShare: share, Level: level})
		}
	}
	return all
}

func gridOnce(o *oracle, _ []design.Supply) (family, outlay, error) {
	f, spent := family{}, outlay{}
	for _, s := range grid() {
		run, p := o.run(s, 1)
		f.add(s.ReadShare, p)
		spent.cost += run.Cost
		spent.runs++
	}
	return f, spent, nil
}

// gridWatched measures the grid in two runs, of an application whose progress
// can be watched.
func gridWatched(o *oracle, _ []design.Supply) (family, outlay, error) {
	f, spent := family{}, outlay{}
	for half := range slices.Chunk(grid(), len(grid())/2) {
		points, cost := o.sweep(half)
		for i, p := range points {
			f.add(half[i].ReadShare, p)
		}
		spent.cost += cost
		spent.runs++
	}
	return f, spent, nil
}

func adaptive(o *oracle, supplies []design.Supply) (family, outlay, error) {
	return adapt(o, design.Options{Supplies: supplies, Own: o.app.Local.Traffic.Total()})
}

// adaptiveUncounted needs the two unpaced runs from which the traffic would be
// inferred.
func adaptiveUncounted(o *oracle, supplies []design.Supply) (family, outlay, error) {
	return adapt(o, design.Options{Supplies: supplies, Required: []design.Setting{{ReadShare: 0.5, Level: 1}, {ReadShare: 1, Level: 1}}})
}

// adapt measures what teaches most, and infers the rest.
func adapt(o *oracle, options design.Options) (family, outlay, error) {
	f, spent := family{}, outlay{}
	options.Levels, options.Noise = levels(), max(o.noise, leastNoise)
	d, err := design.New(options)
	if err != nil {
		return nil, spent, err
	}
	measured := map[design.Setting]bool{}
	for choice, ok := d.Next(); ok; choice, ok = d.Next() {
		run, p := o.run(choice.Setting, choice.Duty)
		d.Observe(run)
		if !measured[choice.Setting] {
			f.add(choice.ReadShare, p)
		}
		measured[choice.Setting] = true
		spent.cost += run.Cost
		spent.runs++
	}
	for _, s := range options.Supplies {
		for _, level := range levels() {
			setting := design.Setting{ReadShare: s.ReadShare, Level: level}
			if measured[setting] {
				continue
			}
			e := d.Estimate(setting)
			achieved := float64(e.Achieved)
			p := o.point(setting)
			f.add(s.ReadShare, v1alpha1.CurvePoint{
				Level: p.Level, InterfererBytesPerSecond: p.InterfererBytesPerSecond, AchievedBytesPerSecond: &achieved,
				NormalizedPerformance: float64(e.Performance), Spread: &e.SD, Inferred: true,
			})
		}
	}
	return f, spent, nil
}

// score is how a way did on a platform.
type score struct {
	mean, most, coverage float64
	// insensitive and sensitive are the costs of applications that keep 95% of
	// their performance beside the strongest pressure, and of the others.
	insensitive, sensitive costs
	groups                 [2]float64
}

type costs struct {
	applications, runs int
	sum, most          float64
}

func (c *costs) add(o outlay) {
	c.applications++
	c.runs += o.runs
	c.sum += o.cost
	c.most = max(c.most, o.cost)
}

func (c costs) String() string {
	if c.applications == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f / %.2f", c.sum/float64(c.applications), c.most)
}

// keeps is the performance beside the strongest pressure with which an
// application counts as insensitive.
const keeps = 0.95

// replay onboards every application of a platform one way and predicts all
// pairs and groups from the profiles.
func replay(d *evaluation.Dataset, w way, noise float64, seed uint64) (score, error) {
	supplies := supplies(d)
	var s score
	onboarded := *d
	onboarded.Apps = slices.Clone(d.Apps)
	for i := range onboarded.Apps {
		app := &onboarded.Apps[i]
		o := &oracle{app: &d.Apps[i], noise: noise, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		f, spent, err := w.onboard(o, supplies)
		if err != nil {
			return s, fmt.Errorf("%s: %w", app.Name, err)
		}
		app.Curves = f.curves()
		strongest := o.point(design.Setting{ReadShare: 0.5, Level: 1})
		if strongest.NormalizedPerformance >= keeps {
			s.insensitive.add(spent)
		} else {
			s.sensitive.add(spent)
		}
	}
	r, err := evaluation.Evaluate(context.Background(), &onboarded, evaluation.Options{
		Methods: []predictor.Method{predictor.Default}, Each: func(evaluation.Row) error { return nil },
	})
	if err != nil {
		return s, err
	}
	s.mean, s.most, s.coverage = r.Methods[0].Mean, r.Methods[0].Max, r.Methods[0].Coverage
	for _, g := range r.Groups {
		if n := g.Corunners - 2; n < len(s.groups) {
			s.groups[n] = g.Mean
		}
	}
	return s, nil
}

// supplies is what calibrating a simulated machine tells of its memory: what
// the interferer reaches alone, and with a stream beside it.
func supplies(d *evaluation.Dataset) []design.Supply {
	var all []design.Supply
	for _, share := range readShares() {
		supply := design.Supply{ReadShare: share}
		for i := range d.Apps {
			a := &d.Apps[i]
			if !slices.Contains(streams(), a.Name) {
				continue
			}
			o := oracle{app: a}
			for _, level := range levels() {
				p := o.point(design.Setting{ReadShare: share, Level: level})
				supply.Sustained = max(supply.Sustained, units.Bandwidth(p.InterfererBytesPerSecond))
				own := a.Local.Traffic.Total() * units.Bandwidth(p.NormalizedPerformance)
				supply.Capacity = max(supply.Capacity, own+units.Bandwidth(*p.AchievedBytesPerSecond))
			}
		}
		all = append(all, supply)
	}
	return all
}
