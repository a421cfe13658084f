package bench

import (
	"cmp"
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
	// aloneRepeats is how many readings of a setting are taken.
	aloneRepeats = 3
	// disturbed is the part of a paced setting's traffic that a reading gives up at
	// most to count as undisturbed, and mostAlone how many readings are taken until
	// aloneRepeats of them are.
	disturbed = 0.02
	mostAlone = 11
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
			m.Alone, err = undisturbed(func() (interferer.Achieved, error) {
				return s.Alone(ctx, m.Settings(), aloneWindow)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// undisturbed returns the median of aloneRepeats readings during which the interferer gave
// up next to nothing, of fewer where others keep taking its CPUs, and of all mostAlone
// readings where there is none: memory gives no more.
func undisturbed(read func() (interferer.Achieved, error)) (units.Traffic, error) {
	var all, quiet []units.Traffic
	for len(quiet) < aloneRepeats && len(all) < mostAlone {
		achieved, err := retryStarved(read)
		if err != nil {
			return units.Traffic{}, err
		}
		all = append(all, achieved.Traffic)
		if achieved.LostShare <= disturbed {
			quiet = append(quiet, achieved.Traffic)
		}
	}
	if len(quiet) > 0 {
		all = quiet
	}
	slices.SortFunc(all, func(a, b units.Traffic) int { return cmp.Compare(a.Total(), b.Total()) })
	return all[len(all)/2], nil
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
