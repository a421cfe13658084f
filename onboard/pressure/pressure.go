// Package pressure says what the interferers of an experiment are asked to do: the points
// of a curve family, how several interferers make a point together, what they reach, and
// how they keep part of a shared cache.
package pressure

import (
	"fmt"
	"slices"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// Pressure is a point of a curve family: what the interferers are asked to do.
type Pressure struct {
	ReadShare units.ReadShare
	// Level is the share of the bandwidth that one interferer sustains, above 0.
	// 1 is unpaced; more takes several interferers.
	Level float64
	// Pattern is the order of cache lines; empty means sequential.
	Pattern interferer.Pattern
	// Footprint is how much of its memory each CPU of the interferer visits, in bytes;
	// 0 means all of it. Only with the random pattern.
	Footprint int64 `json:",omitempty"`
}

// String names p in progress messages and journals.
func (p Pressure) String() string {
	text := fmt.Sprintf("%s reads at %s", p.ReadShare, units.ReadShare(p.Level))
	if p.Pattern == interferer.Random {
		text += ", random"
	}
	if p.Footprint > 0 {
		text += fmt.Sprintf(" within %d KiB", p.Footprint>>10)
	}
	return text
}

// Unpaced returns the setting whose bandwidth is level 1 of p.
func (p Pressure) Unpaced() interferer.Setting {
	return interferer.Setting{Mode: interferer.Stream, ReadShare: p.ReadShare, Pattern: p.Pattern, Footprint: p.Footprint}
}

// Probe returns the probe that p is; false where it is none.
func (p Pressure) Probe() (name string, ok bool) {
	i := slices.IndexFunc(profiler.Probes(), func(name string) bool { return p == ofProbe(name) })
	if i < 0 {
		return "", false
	}
	return profiler.Probes()[i], true
}

func ofProbe(name string) Pressure {
	share, _ := profiler.ProbeReadShare(name)
	return Pressure{ReadShare: units.ReadShare(share), Level: 1, Pattern: interferer.Sequential}
}

// Grid lists every level at every read share.
func Grid(shares []units.ReadShare, levels []float64, pattern interferer.Pattern) []Pressure {
	var all []Pressure
	for _, share := range shares {
		for _, level := range levels {
			all = append(all, Pressure{ReadShare: share, Level: level, Pattern: pattern})
		}
	}
	return all
}

// CalibrationGrid lists the pressures beside which probes are calibrated
// (profiler.CalibrationGrid).
func CalibrationGrid(quick bool) []Pressure {
	var all []Pressure
	for _, p := range profiler.CalibrationGrid(quick) {
		all = append(all, Pressure{ReadShare: p.ReadShare, Level: p.Level, Pattern: interferer.Sequential})
	}
	return all
}

// WithProbes adds the two unpaced pressures that serve as probes, unless they
// are among those wanted.
func WithProbes(wanted []Pressure) []Pressure {
	all := slices.Clone(wanted)
	for _, name := range profiler.Probes() {
		if probe := ofProbe(name); !slices.Contains(all, probe) {
			all = append(all, probe)
		}
	}
	return all
}

// Settings are what the first interferer does, and what the others do together.
type Settings struct{ First, Others interferer.Setting }

// SettingsOf returns the settings that leave the others without traffic. They
// keep their CPUs as busy as the first does, so that only the traffic differs.
func SettingsOf(s interferer.Setting) Settings {
	others := interferer.Setting{Mode: interferer.Spin}
	if s.Mode == interferer.Idle {
		others.Mode = interferer.Idle
	}
	return Settings{s, others}
}

// Unpaced reports whether the first interferer streams as fast as it can, and so
// serves as a probe.
func (s Settings) Unpaced() bool {
	return s.First.Mode == interferer.Stream && s.First.Bandwidth == 0
}

// Measured is a pressure with the settings that make it and the bandwidth that it
// reaches alone: the x axis of a sensitivity curve.
type Measured struct {
	Pressure
	// Setting is the first interferer's, Others that of the others together; the
	// zero value of Others keeps them busy without traffic.
	Setting, Others interferer.Setting
	// Alone is the traffic of all of them with nothing beside them.
	Alone units.Traffic
}

// New returns how to make p with a number of interferers, of which one alone sustains the
// given bandwidth at level 1. Alone is what p asks for; below and above level 1 it has to
// be measured. New fails where p takes more interferers.
func New(p Pressure, interferers int, sustained units.Bandwidth) (Measured, error) {
	m := Measured{Pressure: p, Setting: p.Unpaced(), Alone: units.TrafficOf(sustained, p.ReadShare)}
	switch {
	case p.Level > float64(interferers):
		return Measured{}, fmt.Errorf("%s: %d interferer(s) press up to %d%%: ask for more with --interferers", p, interferers, 100*interferers)
	case p.Level < 1:
		m.Setting.Bandwidth = sustained * units.Bandwidth(p.Level)
	case p.Level > 1:
		m.Others = p.others(interferers, sustained)
	}
	return m, nil
}

// others returns what the others do at a level above 1, where the first interferer is
// unpaced: the rest of the bandwidth asked for, or, at the highest level, all they can.
func (p Pressure) others(interferers int, sustained units.Bandwidth) interferer.Setting {
	s := p.Unpaced()
	if p.Level < float64(interferers) {
		s.Bandwidth = sustained * units.Bandwidth(p.Level-1)
	}
	return s
}

// Settings returns the settings that make m.
func (m Measured) Settings() Settings {
	s := SettingsOf(m.Setting)
	if m.Others.Mode != "" {
		s.Others = m.Others
	}
	return s
}

// Bandwidths returns what the interferers reached alone and beside the target of a
// result, in bytes per second. For a probe both are taken sample by sample, which does
// not drift.
func (m Measured) Bandwidths(r sampling.Result) (alone, achieved float64) {
	if r.Alone > 0 {
		return float64(r.Alone), float64(r.Alone) * r.RelativeSpeed
	}
	return float64(m.Alone.Total()), float64(r.Achieved.Total())
}

// ModulatedBandwidths is Bandwidths for a result of modulation. An unpaced interferer is
// compared with itself alone in neighboring slices.
func (m Measured) ModulatedBandwidths(r sampling.Result) (alone, achieved float64) {
	if m.Settings().Unpaced() {
		return float64(r.Alone), float64(r.Alone) * r.RelativeSpeed
	}
	return float64(m.Alone.Total()), float64(r.Achieved.Total())
}
