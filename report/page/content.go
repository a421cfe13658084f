// Package page writes the report: one self-contained HTML page.
//
// The page contains the prediction of every pair. For groups, and for the pairs of large
// stores, it queries the server that served it; opened from a file, it shows an
// approximation and says so (package fast, ported to fast.js). Profiles are not trusted:
// their texts reach the page as JSON and are shown as text, never as markup.
package page

import (
	"fmt"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/report"
)

// Content is what a report shows.
type Content struct {
	// Generated is when the report was made.
	Generated time.Time
	// Version is that of the Bandmate that made it.
	Version string
	// Machines and Applications may be empty; the page then says what to do.
	Machines     []*v1alpha1.MachineProfile
	Applications []*v1alpha1.ApplicationProfile
	// Predictors are the compiled, and possibly calibrated, Applications in the same
	// order. Nil means that the profiles are compiled and not calibrated.
	Predictors []*predictor.Application
	// Pairing is the best pairing; nil where none was computed.
	Pairing *Pairing
	// Warnings say what is missing or doubtful, such as profiles that could not
	// be read.
	Warnings []string
}

// NewData compiles the profiles if needed and predicts every pair of up to MaxExact
// applications. A profile that does not compile is left out with a warning; Pairing must
// then be nil. NewData fails on indices out of range and on a number of Predictors other
// than that of Applications.
func NewData(c Content) (Data, error) {
	d := Data{
		Version: report.SanitizeText(c.Version), Method: string(predictor.Default), Pairing: c.Pairing,
		Machines: []Machine{}, Applications: []Application{}, Memories: []memory.Numbers{}, Warnings: sanitized(c.Warnings),
	}
	if !c.Generated.IsZero() {
		d.Generated = c.Generated.UTC().Format(time.RFC3339)
	}
	for _, m := range c.Machines {
		d.Machines = append(d.Machines, NewMachine(m))
	}
	profiles, apps, faults := c.compiled()
	if len(profiles) != len(apps) {
		return Data{}, fmt.Errorf("%d applications, of which %d are compiled: give all or none of them", len(profiles), len(apps))
	}
	if err := checkPairing(c.Pairing, len(apps), len(c.Applications)); err != nil {
		return Data{}, err
	}
	d.Warnings = append(d.Warnings, sanitized(faults)...)
	for i, p := range profiles {
		d.Applications = append(d.Applications, newApplication(p, apps[i]))
	}
	d.tabulate(apps)
	if err := d.predict(apps); err != nil {
		return Data{}, err
	}
	return d, nil
}

// compiled returns the profiles that compile, as predictors, and what is wrong
// with the others.
func (c *Content) compiled() (profiles []*v1alpha1.ApplicationProfile, apps []*predictor.Application, faults []string) {
	if c.Predictors != nil {
		return c.Applications, c.Predictors, nil
	}
	for _, p := range c.Applications {
		a, err := predictor.Compile(p)
		if err != nil {
			faults = append(faults, fmt.Sprintf("left out: %v", err))
			continue
		}
		profiles, apps = append(profiles, p), append(apps, a)
	}
	return profiles, apps, faults
}

func checkPairing(p *Pairing, kept, given int) error {
	if p == nil {
		return nil
	}
	if kept != given {
		return fmt.Errorf("a pairing of %d applications, of which %d compile: pair those only", given, kept)
	}
	members := slices.Clone(p.Alone)
	for _, two := range p.Pairs {
		members = append(members, two[0], two[1])
	}
	for _, i := range members {
		if i < 0 || i >= kept {
			return fmt.Errorf("a pairing names application %d of %d", i, kept)
		}
	}
	return nil
}

// NewMachine returns a machine as the page and the API show it; its texts are
// sanitized.
func NewMachine(m *v1alpha1.MachineProfile) Machine {
	shown := Machine{
		Name: report.SanitizeText(m.Name), CPUModel: report.SanitizeText(m.Spec.CPUModel),
		Sockets: m.Spec.Sockets, NUMANodes: m.Spec.NUMANodes, CPUs: m.Spec.CPUs,
		LastLevelCacheBytes: m.Spec.LastLevelCacheBytes, MemoryBytes: m.Spec.MemoryBytes,
		VirtualMachine: m.Spec.VirtualMachine, Sustained: []Sustained{}, Warnings: sanitized(m.Spec.Warnings),
	}
	for _, s := range m.Spec.Sustained {
		shown.Sustained = append(shown.Sustained, Sustained{s.ReadShare, s.Pattern, s.BytesPerSecond, s.RelativeSpread})
	}
	return shown
}

func newApplication(p *v1alpha1.ApplicationProfile, compiled *predictor.Application) Application {
	a := Application{
		Name: report.SanitizeText(v1alpha1.ApplicationOf(p)), Machine: report.SanitizeText(p.Spec.Machine.Name), Command: sanitized(p.Spec.Command),
		Seconds: p.Spec.Solo.Seconds, Repeats: p.Spec.Solo.Repeats, Source: report.SanitizeText(p.Spec.Contentiousness.Source),
		Curves: []Curve{}, Fits: compiled.Fits(), SharesCache: compiled.SharesCache(), Warnings: sanitized(p.Spec.Warnings),
	}
	if _, known := compiled.Known(); known {
		traffic, _ := compiled.Contentiousness()
		a.Read, a.Write = &traffic.Read, &traffic.Write
	}
	if s := p.Spec.Service; s != nil {
		a.Saturation = &s.SaturationRequestsPerSecond
	}
	if t := p.Spec.Measurement.Time; !t.IsZero() {
		a.Measured = t.UTC().Format(time.RFC3339)
	}
	for _, c := range p.Spec.Curves {
		curve := Curve{ReadShare: c.ReadShare, Pattern: report.SanitizeText(c.Pattern)}
		for _, at := range c.Points {
			curve.Points = append(curve.Points, Point{
				at.InterfererBytesPerSecond, at.NormalizedPerformance, at.Spread, at.AchievedBytesPerSecond, at.Repeats, at.Inferred,
			})
		}
		a.Curves = append(a.Curves, curve)
	}
	return a
}

func sanitized(texts []string) []string {
	clean := make([]string, 0, len(texts))
	for _, text := range texts {
		clean = append(clean, report.SanitizeText(text))
	}
	return clean
}
