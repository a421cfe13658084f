package onboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// Pressure is a point of a curve family: what the interferer is asked for.
type Pressure struct {
	ReadShare units.ReadShare
	// Level is the share of the sustained bandwidth, above 0 to 1; 1 is unpaced.
	Level float64
	// Pattern is the order of cache lines; empty means sequential.
	Pattern interferer.Pattern
}

// String names p in progress messages and journals.
func (p Pressure) String() string {
	text := fmt.Sprintf("%s reads at %s", p.ReadShare, units.ReadShare(p.Level))
	if p.Pattern == interferer.Random {
		text += ", random"
	}
	return text
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

// MeasuredPressure is a pressure with the setting that makes it and the
// bandwidth it reaches alone: the x axis of a sensitivity curve.
type MeasuredPressure struct {
	Pressure
	Setting interferer.Setting
	Alone   units.Traffic
}

const (
	// aloneWindow is how long the interferer runs for one reading of its
	// bandwidth alone.
	aloneWindow = 60 * time.Millisecond
	// aloneRepeats is how many readings of an unpaced setting are taken.
	aloneRepeats = 3
)

// MeasurePressures finds the sustained bandwidth at every read share and
// pattern asked for, and what each paced level of it reaches alone.
func (s *Session) MeasurePressures(ctx context.Context, wanted []Pressure) ([]MeasuredPressure, error) {
	sustained := map[Pressure]units.Traffic{}
	measure := func(setting interferer.Setting, repeats int) (units.Traffic, error) {
		var read, write []float64
		for range repeats {
			achieved, err := s.alone(ctx, setting, aloneWindow)
			if err != nil {
				return units.Traffic{}, err
			}
			read = append(read, float64(achieved.Traffic.Read))
			write = append(write, float64(achieved.Traffic.Write))
		}
		return units.Traffic{Read: units.Bandwidth(median(read)), Write: units.Bandwidth(median(write))}, nil
	}
	var all []MeasuredPressure
	for _, p := range wanted {
		setting := interferer.Setting{Mode: interferer.Stream, ReadShare: p.ReadShare, Pattern: p.Pattern}
		top := Pressure{ReadShare: p.ReadShare, Level: 1, Pattern: p.Pattern}
		if _, done := sustained[top]; !done {
			traffic, err := measure(setting, aloneRepeats)
			if err != nil {
				return nil, fmt.Errorf("sustained bandwidth at %s reads: %w", p.ReadShare, err)
			}
			if traffic.Total() <= 0 {
				return nil, fmt.Errorf("sustained bandwidth at %s reads: the interferer moved nothing within %v: free its CPU %s", p.ReadShare, aloneWindow, s.Placement.Interferer)
			}
			sustained[top] = traffic
		}
		measured := MeasuredPressure{Pressure: p, Setting: setting, Alone: sustained[top]}
		if p.Level < 1 {
			measured.Setting.Bandwidth = sustained[top].Total() * units.Bandwidth(p.Level)
			traffic, err := measure(measured.Setting, 1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			measured.Alone = traffic
		}
		all = append(all, measured)
	}
	return all, nil
}

// WithProbes adds the two unpaced pressures that serve as probes, when they
// are not among those wanted.
func WithProbes(wanted []Pressure) []Pressure {
	all := slices.Clone(wanted)
	for _, name := range profiler.Probes() {
		share, _ := profiler.ProbeReadShare(name)
		probe := Pressure{ReadShare: units.ReadShare(share), Level: 1, Pattern: interferer.Sequential}
		if !slices.Contains(all, probe) {
			all = append(all, probe)
		}
	}
	return all
}
