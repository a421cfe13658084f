// Package scoretest reads the situations that every door to package score is
// tested with: predictor/score/testdata/situations.yaml. A door is right when it
// hands the score what the situation says and gives back what it wants.
package scoretest

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// Table is the whole of a file.
type Table struct {
	Applications []*v1alpha1.ApplicationProfile
	Machines     []*v1alpha1.MachineProfile
	Situations   []Situation
}

// Advisor compiles the profiles of the table.
func (t *Table) Advisor() *advisor.Advisor { return advisor.New(t.Applications, t.Machines) }

// Situation is one question with its answer.
type Situation struct {
	Name string `json:"name"`
	// Objective and Unknown are those of score.Options; Assumed is the traffic
	// of an unknown job under the policy assume.
	Objective score.Objective `json:"objective"`
	Unknown   score.Policy    `json:"unknown"`
	Assumed   *Traffic        `json:"assumed"`
	Newcomer  Job             `json:"newcomer"`
	Domains   []Domain        `json:"domains"`
	// Want lists the domains from best to worst.
	Want []Want `json:"want"`
}

// Job is the newcomer or a resident; a resident is called by its application,
// the newcomer "newcomer".
type Job struct {
	Application string         `json:"application"`
	CPUs        float64        `json:"cpus"`
	Limit       units.Slowdown `json:"limit"`
}

// Domain is one place; without a machine it is the table's first.
type Domain struct {
	Name      string   `json:"name"`
	Machine   string   `json:"machine"`
	Measured  *Traffic `json:"measured"` // of the whole domain
	Residents []Job    `json:"residents"`
}

// Traffic is a total with its read share.
type Traffic struct {
	Total     string `json:"traffic"`
	ReadShare string `json:"readShare"`
}

// Want is the expected score of one domain.
type Want struct {
	Domain    string           `json:"domain"`
	Cost      float64          `json:"cost"`
	Newcomer  units.Slowdown   `json:"newcomer"`
	Residents []units.Slowdown `json:"residents"`
	OverLimit int              `json:"overLimit"`
	Avoided   bool             `json:"avoided"`
	Unknown   []string         `json:"unknown"`
}

// Tolerance is how far a slowdown, or a cost for each CPU, may be from what is
// wanted: the situations are worked out by head, for a single step of mutual
// slowing down.
const Tolerance = 0.01

// Options returns the options of the score.
func (s *Situation) Options() (score.Options, error) {
	o := score.Options{Objective: s.Objective, Unknown: s.Unknown}
	if s.Assumed != nil {
		traffic, err := s.Assumed.Units()
		if err != nil {
			return o, fmt.Errorf("situation %q: %w", s.Name, err)
		}
		if o.StandIn, err = predictor.Assumed("assumed", traffic); err != nil {
			return o, fmt.Errorf("situation %q: %w", s.Name, err)
		}
	}
	return o, nil
}

// Units returns the traffic as a quantity.
func (t *Traffic) Units() (units.Traffic, error) {
	total, err := units.ParseBandwidth(t.Total)
	if err != nil {
		return units.Traffic{}, err
	}
	share, err := units.ParseReadShare(t.ReadShare)
	if err != nil {
		return units.Traffic{}, err
	}
	return units.TrafficOf(total, share), nil
}

// file is the short form in which the table is written.
type file struct {
	Machines []struct {
		Name      string `json:"name"`
		Sustained string `json:"sustained"`
		// Network is what it carries, absent when not known.
		Network string `json:"network"`
	} `json:"machines"`
	Profiles []struct {
		Application string               `json:"application"`
		Machine     string               `json:"machine"`
		Keeps       map[string][]float64 `json:"keeps"`
		// Sends is what it sends, absent when not known, and Overlapped whether it
		// computes meanwhile.
		Sends      string `json:"sends"`
		Overlapped bool   `json:"overlapped"`
		Traffic
	} `json:"profiles"`
	Situations []Situation `json:"situations"`
}

// Parse reads a table.
func Parse(text []byte) (*Table, error) {
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, err
	}
	t := &Table{Situations: f.Situations}
	for _, m := range f.Machines {
		sustained, err := units.ParseBandwidth(m.Sustained)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		machine := machineProfile(m.Name, sustained)
		if m.Network != "" {
			rate, err := units.ParseBandwidth(m.Network)
			if err != nil {
				return nil, fmt.Errorf("machine %s: %w", m.Name, err)
			}
			machine.Spec.Network = &v1alpha1.Network{
				Model: "gigabit-ethernet", BytesPerSecond: float64(rate), Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0),
			}
		}
		t.Machines = append(t.Machines, machine)
	}
	for _, p := range f.Profiles {
		traffic, err := p.Units()
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Application, err)
		}
		profile, err := applicationProfile(p.Application, p.Machine, traffic, p.Keeps)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Application, err)
		}
		if p.Sends != "" {
			rate, err := units.ParseBandwidth(p.Sends)
			if err != nil {
				return nil, fmt.Errorf("profile %s: %w", p.Application, err)
			}
			profile.Spec.Communication = &v1alpha1.Communication{
				Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(float64(rate)), ReceivedBytesPerSecond: new(0.0), Overlapped: &p.Overlapped,
			}
		}
		t.Applications = append(t.Applications, profile)
	}
	for i := range t.Situations {
		for j := range t.Situations[i].Domains {
			if d := &t.Situations[i].Domains[j]; d.Machine == "" {
				d.Machine = f.Machines[0].Name
			}
		}
	}
	return t, nil
}

func machineProfile(name string, sustained units.Bandwidth) *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindMachineProfile},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = 1, 1, 64
	for _, share := range []float64{0.5, 1} {
		m.Spec.Sustained = append(m.Spec.Sustained, v1alpha1.SustainedBandwidth{
			ReadShare: share, BytesPerSecond: float64(sustained), Repeats: 1,
		})
	}
	return m
}

// interferer is what the made-up interferer reaches alone and beside anyone.
const interferer = 20 * units.GigabytePerSecond

func applicationProfile(name, machine string, traffic units.Traffic, keeps map[string][]float64) (*v1alpha1.ApplicationProfile, error) {
	p := &v1alpha1.ApplicationProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindApplicationProfile},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	p.Spec.Machine.Name = machine
	p.Spec.Solo = v1alpha1.Timing{Seconds: 1, Repeats: 1}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond: float64(traffic.Read), WriteBytesPerSecond: float64(traffic.Write), Source: "imported",
	}
	for _, text := range slices.Sorted(maps.Keys(keeps)) {
		share, err := units.ParseReadShare(text)
		if err != nil {
			return nil, err
		}
		c := v1alpha1.SensitivityCurve{ReadShare: float64(share)}
		for i, performance := range keeps[text] {
			level := float64(i+1) / float64(len(keeps[text]))
			b := float64(interferer) * level
			c.Points = append(c.Points, v1alpha1.CurvePoint{
				Level: level, InterfererBytesPerSecond: b, AchievedBytesPerSecond: &b,
				NormalizedPerformance: performance, Repeats: 1,
			})
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	return p, nil
}
