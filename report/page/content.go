// Package page makes the report: one HTML page that holds everything it shows
// and computes, needs no network and works from a file.
//
// The page carries the profiles as numbers and computes its matrix and its
// what-if answers from them by a port of the predictor's default method
// (model.js, memory.js, communication.js), which tests hold to the Go one. Nothing in a profile is trusted:
// its texts reach the page as JSON and are shown as text, never as markup.
package page

import (
	"fmt"
	"math"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
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
	// Predictors are Applications, in the same order, as predictions are to be made
	// of them: compiled, and described by the model of their machine's memory where
	// there is one. Nil compiles the profiles, whose curves then serve alone.
	Predictors []*predictor.Application
	// Pairing is the best pairing; nil where there was none to look for.
	Pairing *Pairing
	// Warnings say what is missing or may be doubted, such as profiles that
	// could not be read.
	Warnings []string
}

// Pairing divides the applications into pairs.
type Pairing struct {
	// Pairs are indices into Applications.
	Pairs [][2]int `json:"pairs"`
	// Alone are the applications without a partner.
	Alone []int `json:"alone"`
	// Total, Greedy and Random are sums of slowdowns: of this pairing, of the
	// one that takes the best pair first, of pairing at random on average.
	Total  float64 `json:"total"`
	Greedy float64 `json:"greedy"`
	Random float64 `json:"random"`
}

// Data is the content as numbers: what the page holds in JSON, and what it
// offers for download.
type Data struct {
	Generated    string        `json:"generated,omitempty"`
	Version      string        `json:"version"`
	Method       string        `json:"method"`
	Machines     []Machine     `json:"machines"`
	Applications []Application `json:"applications"`
	// Models are what Snapshot.Described of the applications refers to.
	Models []memory.ModelSnapshot `json:"models"`
	// Networks are what Snapshot.Load of the applications refers to.
	Networks []communication.MachineSnapshot `json:"networks"`
	Pairing  *Pairing                        `json:"pairing,omitempty"`
	Warnings []string                        `json:"warnings"`
	// QuickRanking is true where Suffers and Causes are those of the quick
	// method, because there are too many pairs for the default one.
	QuickRanking bool `json:"quickRanking"`
}

// Machine is a MachineProfile for the page.
type Machine struct {
	Name                string      `json:"name"`
	CPUModel            string      `json:"cpuModel,omitempty"`
	Sockets             int         `json:"sockets"`
	NUMANodes           int         `json:"numaNodes"`
	CPUs                int         `json:"cpus"`
	LastLevelCacheBytes int64       `json:"lastLevelCacheBytes,omitempty"`
	MemoryBytes         int64       `json:"memoryBytes,omitempty"`
	VirtualMachine      bool        `json:"virtualMachine"`
	Sustained           []Sustained `json:"sustained"`
	Warnings            []string    `json:"warnings,omitempty"`
}

// Sustained is the highest bandwidth of the interferer alone, per read share.
type Sustained struct {
	ReadShare      float64  `json:"readShare"`
	Pattern        string   `json:"pattern,omitempty"`
	BytesPerSecond float64  `json:"bytesPerSecond"`
	RelativeSpread *float64 `json:"relativeSpread,omitempty"`
}

// Application is an ApplicationProfile for the page.
type Application struct {
	Name     string   `json:"name"`
	Machine  string   `json:"machine"`
	Command  []string `json:"command,omitempty"`
	Seconds  float64  `json:"seconds"`
	Source   string   `json:"source"`
	Repeats  int      `json:"repeats"`
	Measured string   `json:"measured,omitempty"`
	Curves   []Curve  `json:"curves"`
	// Snapshot is what predictions are computed from.
	Snapshot predictor.Snapshot `json:"snapshot"`
	// Suffers is the mean slowdown beside each other application, Causes the
	// mean slowdown of the others beside it; absent where not known.
	Suffers  *float64 `json:"suffers,omitempty"`
	Causes   *float64 `json:"causes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Curve is the measured points at one read share.
type Curve struct {
	ReadShare float64 `json:"readShare"`
	Pattern   string  `json:"pattern,omitempty"`
	Points    []Point `json:"points"`
}

// Point is one measured or inferred point of a curve.
type Point struct {
	Bandwidth   float64  `json:"x"`
	Performance float64  `json:"y"`
	Spread      *float64 `json:"spread,omitempty"`
	Achieved    *float64 `json:"achieved,omitempty"`
	Repeats     int      `json:"repeats,omitempty"`
	Inferred    bool     `json:"inferred,omitempty"`
}

// NewData compiles the profiles where that is not done, and ranks them. A profile
// that does not compile is left out and named in the warnings; Pairing must then
// be nil, because its indices are those of Content. It fails where they are out
// of range, and where there are Predictors, but not one for each application.
func NewData(c Content) (Data, error) {
	d := Data{
		Version: report.SanitizeText(c.Version), Method: string(predictor.Default), Pairing: c.Pairing,
		Machines: []Machine{}, Applications: []Application{}, Warnings: sanitized(c.Warnings),
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
	set := predictor.Snapshots(apps)
	d.Models, d.Networks = set.Models, set.Networks
	for i, p := range profiles {
		d.Applications = append(d.Applications, newApplication(p, set.Applications[i]))
	}
	d.rank(apps)
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

func newApplication(p *v1alpha1.ApplicationProfile, snapshot predictor.Snapshot) Application {
	a := Application{
		Name: report.SanitizeText(p.Name), Machine: report.SanitizeText(p.Spec.Machine.Name), Command: sanitized(p.Spec.Command),
		Seconds: p.Spec.Solo.Seconds, Repeats: p.Spec.Solo.Repeats, Source: report.SanitizeText(p.Spec.Contentiousness.Source),
		Curves: []Curve{}, Snapshot: snapshot, Warnings: sanitized(p.Spec.Warnings),
	}
	a.Snapshot.Name = a.Name
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

// mostExact is up to how many applications are ranked by the default method:
// some 100,000 pairs, a second at most.
const mostExact = 300

// rank sets Suffers and Causes.
func (d *Data) rank(apps []*predictor.Application) {
	n := len(apps)
	d.QuickRanking = n > mostExact
	row := defaultRow(apps)
	if d.QuickRanking {
		row = fast.NewPairs(apps).Row
	}
	type mean struct {
		sum   float64
		count int
	}
	suffers, causes := make([]mean, n), make([]mean, n)
	var performances []units.NormalizedPerformance
	for i, a := range apps {
		sensitive, _ := a.Known()
		if !sensitive {
			continue
		}
		performances = row(performances[:0], i)
		for j, p := range performances {
			_, contentious := apps[j].Known()
			if !contentious || (i == j && n > 1) {
				continue
			}
			slowdown := float64(p.Slowdown())
			suffers[i].sum, suffers[i].count = suffers[i].sum+slowdown, suffers[i].count+1
			causes[j].sum, causes[j].count = causes[j].sum+slowdown, causes[j].count+1
		}
	}
	value := func(m mean) *float64 {
		if m.count == 0 || math.IsInf(m.sum, 0) || math.IsNaN(m.sum) {
			return nil
		}
		v := m.sum / float64(m.count)
		return &v
	}
	for i := range d.Applications {
		d.Applications[i].Suffers, d.Applications[i].Causes = value(suffers[i]), value(causes[i])
	}
}

// defaultRow is Pairs.Row by the default method.
func defaultRow(apps []*predictor.Application) func([]units.NormalizedPerformance, int) []units.NormalizedPerformance {
	var workspace predictor.Workspace
	var both [2]units.NormalizedPerformance
	return func(dst []units.NormalizedPerformance, i int) []units.NormalizedPerformance {
		for j := range apps {
			dst = append(dst, workspace.Performances(both[:0], []*predictor.Application{apps[i], apps[j]})[0])
		}
		return dst
	}
}
