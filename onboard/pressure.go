package onboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/onboard/sampling"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// Pressure is a point of a curve family: what the interferer is asked to do.
type Pressure struct {
	ReadShare units.ReadShare
	// Level is the share of the bandwidth that one interferer sustains, above 0.
	// 1 is unpaced; more takes several interferers (Placing.Interferers).
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
	// Setting is the first interferer's, Others that of the others together; the
	// zero value of Others keeps them busy without traffic.
	Setting, Others interferer.Setting
	// Alone is the traffic of all of them with nothing beside them.
	Alone units.Traffic
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
	sustained, err := s.sustainedOf(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var all []MeasuredPressure
	for _, p := range wanted {
		top := sustained[p.unpaced()]
		measured := MeasuredPressure{Pressure: p, Setting: p.unpaced(), Alone: units.TrafficOf(top, p.ReadShare)}
		if p.Level != 1 {
			if p.Level > float64(s.count) {
				return nil, fmt.Errorf("%s: %d interferer(s) press up to %d%%: ask for more with --interferers", p, s.count, 100*s.count)
			}
			if p.Level < 1 {
				measured.Setting.Bandwidth = top * units.Bandwidth(p.Level)
			} else {
				measured.Others = othersAt(p, s.count, top)
			}
			achieved, err := retryStarved(func() (interferer.Achieved, error) {
				return s.alone(ctx, measured.settings(), aloneWindow)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			measured.Alone = achieved.Traffic
		}
		all = append(all, measured)
	}
	return all, nil
}

// starvedLimit bounds the readings lost in a row to other programs.
const starvedLimit = 10

// retryStarved repeats a reading that moved nothing, because other programs kept
// the interferer from its CPUs.
func retryStarved(read func() (interferer.Achieved, error)) (interferer.Achieved, error) {
	for range starvedLimit {
		achieved, err := read()
		if err != nil || achieved.Traffic.Total() > 0 {
			return achieved, err
		}
	}
	return interferer.Achieved{}, sampling.ErrStarved
}

// unpaced returns the setting whose bandwidth is level 1 of p.
func (p Pressure) unpaced() interferer.Setting {
	return interferer.Setting{Mode: interferer.Stream, ReadShare: p.ReadShare, Pattern: p.Pattern, Footprint: p.Footprint}
}

func (s *Session) sustainedOf(ctx context.Context, wanted []Pressure) (map[interferer.Setting]units.Bandwidth, error) {
	var unpaced []interferer.Setting
	for _, p := range wanted {
		if setting := p.unpaced(); !slices.Contains(unpaced, setting) {
			unpaced = append(unpaced, setting)
		}
	}
	if len(unpaced) == 0 {
		return nil, nil
	}
	found, err := interferer.Calibrate(ctx, s.interferers[0], unpaced, aloneRepeats, aloneWindow, nil)
	if err != nil {
		return nil, err
	}
	sustained := map[interferer.Setting]units.Bandwidth{}
	for i, setting := range unpaced {
		if found[i].Bandwidth <= 0 {
			return nil, fmt.Errorf("the interferer moved nothing at %s reads: free its CPUs %s", setting.ReadShare, s.Placement.Interferer)
		}
		sustained[setting] = found[i].Bandwidth
	}
	return sustained, nil
}

// WithProbes adds the two unpaced pressures that serve as probes, unless they
// are among those wanted.
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
