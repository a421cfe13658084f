package onboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/units"
)

const (
	// aloneWindow is how long the interferer runs for one reading of its
	// bandwidth alone.
	aloneWindow = 60 * time.Millisecond
	// aloneRepeats is how many readings of an unpaced setting are taken.
	aloneRepeats = 3
)

// MeasurePressures finds the sustained bandwidth at every read share and
// pattern asked for, and what each paced level of it reaches alone.
func (s *Session) MeasurePressures(ctx context.Context, wanted []pressure.Pressure) ([]pressure.Measured, error) {
	sustained, err := s.sustainedOf(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var all []pressure.Measured
	for _, p := range wanted {
		m, err := pressure.New(p, s.count, sustained[p.Unpaced()])
		if err != nil {
			return nil, err
		}
		if p.Level != 1 {
			achieved, err := retryStarved(func() (interferer.Achieved, error) {
				return s.alone(ctx, m.Settings(), aloneWindow)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			m.Alone = achieved.Traffic
		}
		all = append(all, m)
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

func (s *Session) sustainedOf(ctx context.Context, wanted []pressure.Pressure) (map[interferer.Setting]units.Bandwidth, error) {
	var unpaced []interferer.Setting
	for _, p := range wanted {
		if setting := p.Unpaced(); !slices.Contains(unpaced, setting) {
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
