package server

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// predict answers as `bandmate predict` does.
func predict(ctx context.Context, a *advisor.Advisor, q Question) (advisor.ServicePrediction, error) {
	var entries []advisor.Entry
	for i, name := range append([]string{q.Target}, q.Corunners...) {
		one, err := a.Choose([]string{name}, q.Machine)
		if err != nil {
			return advisor.ServicePrediction{}, &Fault{Field: roleOf(i), Err: err}
		}
		entries = append(entries, one...)
	}
	g, err := a.Group(ctx, entries, q.Method)
	if err != nil {
		return advisor.ServicePrediction{}, err
	}
	p, err := g.PredictServices(ctx, 0, q.Demands, q.Explain)
	// Any of them may be missing from the model of the memory.
	p.Warnings = append(p.Warnings, messages(a.Broken())...)
	switch {
	case errors.Is(err, service.ErrNoSweep):
		err = &Fault{Field: "load", Err: err}
	case errors.Is(err, predictor.ErrNoCurves):
		err = &Fault{Field: roleOf(0), Err: err}
	case errors.Is(err, predictor.ErrNoContentiousness):
		err = &Fault{Field: roleOf(1), Err: err}
	}
	return p, err
}

// roleOf names the parameter that the names of a question come from.
func roleOf(place int) string {
	if place == 0 {
		return "target"
	}
	return "corunner"
}

// predictMatrix answers as `bandmate matrix` does, for a window of rows and columns.
func predictMatrix(ctx context.Context, a *advisor.Advisor, q MatrixQuestion) (Matrix, error) {
	m := Matrix{
		Method: q.Method, Offset: q.Rows.Offset, CorunnerOffset: q.Columns.Offset,
		Targets: []string{}, Corunners: []string{}, Slowdowns: [][]*float64{},
	}
	entries, faults, err := a.Select(q.Applications, q.Machine)
	if err != nil {
		field := "application"
		if len(q.Applications) == 0 {
			field = "machine"
		}
		return m, &Fault{Field: field, Err: err}
	}
	faults = slices.Concat(a.Broken(), faults)
	m.Total, m.Warnings = len(entries), append(messages(faults), advisor.Warnings(entries)...)
	part := func(w Window) (*advisor.Group, error) {
		first, end := w.Of(len(entries))
		return a.Group(ctx, entries[first:end], q.Method)
	}
	rows, err := part(q.Rows)
	if err != nil {
		return m, err
	}
	columns, err := part(q.Columns)
	if err != nil {
		return m, err
	}
	if q.Method == predictor.Default {
		m.Basis = advisor.BasisOf(rows.Entries, columns.Entries)
	}
	slowdowns, err := rows.Slowdowns(ctx, columns)
	if err != nil && !errors.Is(err, predictor.ErrNoCurves) && !errors.Is(err, predictor.ErrNoContentiousness) {
		return m, err
	}
	names := advisor.Names(entries)
	named := func(w Window) []string {
		first, end := w.Of(len(entries))
		return append([]string{}, names[first:end]...)
	}
	m.Targets, m.Corunners = named(q.Rows), named(q.Columns)
	for i := range rows.Entries {
		row := make([]*float64, len(slowdowns[i]))
		for j, s := range slowdowns[i] {
			if !math.IsNaN(float64(s)) {
				row[j] = new(float64(s))
			}
		}
		m.Slowdowns = append(m.Slowdowns, row)
	}
	return m, nil
}

func messages(faults []error) []string {
	texts := []string{}
	for _, fault := range faults {
		texts = append(texts, fault.Error())
	}
	return texts
}

// applications returns every valid profile in order of name and machine, and the
// faults of the others.
func applications(a *advisor.Advisor) (all []Application, warnings []string) {
	entries, faults, _ := a.Select(nil, "") // fails only where a machine is named
	all = []Application{}
	for _, e := range entries {
		all = append(all, summary(e.Profile))
	}
	return all, messages(slices.Concat(a.Broken(), faults))
}

func summary(p *v1alpha1.ApplicationProfile) Application {
	c := p.Spec.Contentiousness
	a := Application{
		Name: v1alpha1.ApplicationOf(p), Machine: p.Spec.Machine.Name, Source: c.Source,
		SoloSeconds: p.Spec.Solo.Seconds, SoloRepeats: p.Spec.Solo.Repeats,
		Curves: []Curve{}, Warnings: append([]string{}, p.Spec.Warnings...),
	}
	if c.Source != "" || c.ReadBytesPerSecond+c.WriteBytesPerSecond > 0 {
		a.ReadBytesPerSecond, a.WriteBytesPerSecond = &c.ReadBytesPerSecond, &c.WriteBytesPerSecond
	}
	if t := p.Spec.Measurement.Time; !t.IsZero() {
		a.Measured = t.UTC().Format(time.RFC3339)
	}
	for _, curve := range p.Spec.Curves {
		worst := units.NormalizedPerformance(1)
		for _, point := range curve.Points {
			worst = min(worst, units.NormalizedPerformance(point.NormalizedPerformance))
		}
		a.Curves = append(a.Curves, Curve{
			ReadShare: curve.ReadShare, Pattern: curve.Pattern, Points: len(curve.Points), Worst: float64(max(worst, curves.Floor).Slowdown()),
		})
	}
	return a
}
