package main

import (
	"errors"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report/page"
	"bandmate.dev/bandmate/server"
	"bandmate.dev/bandmate/units"
)

// served is knowledge as the server asks for it.
type served struct{ of *knowledge }

// Predict implements server.Knowledge by what `bandmate predict` does.
func (s *served) Predict(q server.Question) (predictor.Prediction, error) {
	names := append([]string{q.Target}, q.Corunners...)
	for i, name := range names {
		if _, err := loadForPrediction(s.of, []string{name}, q.Machine); err != nil {
			return predictor.Prediction{}, &server.Fault{Field: roleOf(i), Err: err}
		}
	}
	p, _, err := s.of.predict(names, predictionFlags{method: string(q.Method), machine: q.Machine}, q.Explain)
	switch {
	case errors.Is(err, predictor.ErrNoCurves):
		err = &server.Fault{Field: roleOf(0), Err: err}
	case errors.Is(err, predictor.ErrNoContentiousness):
		err = &server.Fault{Field: roleOf(1), Err: err}
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

// Matrix implements server.Knowledge by what `bandmate matrix` does.
func (s *served) Matrix(q server.MatrixQuestion) (server.Matrix, error) {
	m := server.Matrix{
		Method: q.Method, Offset: q.Rows.Offset, CorunnerOffset: q.Columns.Offset,
		Targets: []string{}, Corunners: []string{}, Slowdowns: [][]*float64{}, Warnings: []string{},
	}
	profiles, warnings, err := s.choose(q.Applications, q.Machine)
	if err != nil {
		return m, err
	}
	m.Total = len(profiles)
	m.Warnings = append(append(m.Warnings, warnings...), mixtureWarnings(profiles)...)
	part := func(w server.Window) (predictables, error) {
		first, end := w.Of(len(profiles))
		return s.of.prepare(profiles[first:end], q.Method)
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
		m.Basis = basisOf(union(rows.compiled, columns.compiled))
	}
	for _, p := range columns.profiles {
		m.Corunners = append(m.Corunners, p.Name)
	}
	var workspace predictor.Workspace
	for i, target := range rows.compiled {
		m.Targets = append(m.Targets, rows.profiles[i].Name)
		row := make([]*float64, len(columns.compiled))
		for j, corunner := range columns.compiled {
			slowdown, err := predictPair(&workspace, target, corunner, q.Method)
			switch {
			case err == nil:
				value := float64(slowdown)
				row[j] = &value
			case !errors.Is(err, predictor.ErrNoCurves) && !errors.Is(err, predictor.ErrNoContentiousness):
				return m, err
			}
		}
		m.Slowdowns = append(m.Slowdowns, row)
	}
	return m, nil
}

// choose returns the named applications, or else the sound ones of the machine and
// what is wrong with others.
func (s *served) choose(names []string, machine string) (profiles []*v1alpha1.ApplicationProfile, warnings []string, err error) {
	for _, name := range names {
		one, err := loadForPrediction(s.of, []string{name}, machine)
		if err != nil {
			return nil, nil, &server.Fault{Field: "application", Err: err}
		}
		profiles = append(profiles, one...)
	}
	if len(names) > 0 {
		return profiles, nil, nil
	}
	all, broken, err := s.of.Applications()
	if err != nil {
		return nil, nil, err
	}
	if profiles, err = chooseProfiles(s.of, all, nil, machine); err != nil {
		return nil, nil, &server.Fault{Field: "machine", Err: err}
	}
	profiles, faults := s.of.sound(profiles)
	return profiles, messages(append(broken, faults...)), nil
}

// union returns the members of both, each once.
func union(a, b []*predictor.Application) []*predictor.Application {
	both := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(a, one) {
			both = append(both, one)
		}
	}
	return both
}

func messages(faults []error) []string {
	var texts []string
	for _, fault := range faults {
		texts = append(texts, fault.Error())
	}
	return texts
}

// Applications implements server.Knowledge.
func (s *served) Applications() (all []server.Application, warnings []string) {
	profiles, broken, err := s.of.Applications()
	if err != nil {
		broken = append(broken, err)
	}
	for _, p := range profiles {
		all = append(all, summary(p))
	}
	return all, messages(broken)
}

func summary(p *v1alpha1.ApplicationProfile) server.Application {
	c := p.Spec.Contentiousness
	a := server.Application{
		Name: p.Name, Machine: p.Spec.Machine.Name, Source: c.Source,
		SoloSeconds: p.Spec.Solo.Seconds, SoloRepeats: p.Spec.Solo.Repeats,
		Curves: []server.Curve{}, Warnings: append([]string{}, p.Spec.Warnings...),
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
		a.Curves = append(a.Curves, server.Curve{
			ReadShare: curve.ReadShare, Pattern: curve.Pattern, Points: len(curve.Points), Worst: float64(worst.Slowdown()),
		})
	}
	return a
}

// Machines implements server.Knowledge.
func (s *served) Machines() (all []page.Machine, warnings []string) {
	machines, broken, err := s.of.Machines()
	if err != nil {
		broken = append(broken, err)
	}
	for _, m := range machines {
		all = append(all, page.NewMachine(m))
	}
	return all, messages(broken)
}

// Page implements server.Knowledge by what `bandmate report` does.
func (s *served) Page() (page.Data, error) {
	content, err := s.of.report(nil, "")
	if err != nil {
		return page.Data{}, err
	}
	content.Generated = time.Now()
	return page.NewData(content)
}
