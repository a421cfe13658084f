package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/regime"
)

const (
	// mapRepeats is how often a probe is read beside a pressure.
	mapRepeats = 5
	// mapWarmUp lets a cache probe find its lines again, or lose them.
	mapWarmUp = 30 * time.Millisecond
	mapWindow = 60 * time.Millisecond
)

// cachePoint is a cache probe beside known traffic.
type cachePoint struct {
	Footprint int64
	Pressure  onboard.Pressure
	// BytesPerSecond is the known traffic's.
	BytesPerSecond float64
	// Speed is the probe's beside it ÷ alone, the median.
	Speed float64
}

// readCacheMap measures once what cache probes keep of their speed beside the
// pressures that the applications are measured beside.
func (s *survey) readCacheMap(ctx context.Context) error {
	path := filepath.Join(s.output, "cachemap.json")
	data, err := os.ReadFile(path)
	if err == nil {
		return json.Unmarshal(data, &s.cacheMap)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.cacheMap, err = s.measureCacheMap(ctx); err != nil {
		return fmt.Errorf("cache probes: %w", err)
	}
	if data, err = json.MarshalIndent(s.cacheMap, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// measureCacheMap places the probes on the interferer's CPUs and the known
// traffic on the application's, with an interferer each.
func (s *survey) measureCacheMap(ctx context.Context) (points []cachePoint, err error) {
	options := interferer.Options{AllowAllCPUs: true, MaxDuration: time.Hour}
	if bytes, ok := s.session.Machine.LastLevelCacheBytes(s.session.Placement.Interferer); ok {
		options.LastLevelCacheBytes = bytes
	}
	options.CPUs = s.session.Placement.Interferer
	probe, err := interferer.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, probe.Close()) }()
	options.CPUs = s.session.Placement.Target
	known, err := interferer.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, known.Close()) }()

	settings := []onboard.MeasuredPressure{{Setting: interferer.Setting{Mode: interferer.Spin}}}
	settings = append(settings, s.experiment.Pressures...)
	type cell struct {
		probe  cacheProbe
		beside int
	}
	speeds, traffic := map[cell][]float64{}, map[cell][]float64{}
	for range mapRepeats {
		for _, beside := range rand.Perm(len(settings)) {
			for _, p := range s.cacheProbes() {
				speed, moved, err := s.readBeside(ctx, probe, known, p.setting(), settings[beside].Setting)
				if err != nil {
					return nil, err
				}
				c := cell{p, beside}
				speeds[c], traffic[c] = append(speeds[c], speed), append(traffic[c], moved)
			}
		}
	}
	for _, p := range s.cacheProbes() {
		alone := stats.Median(speeds[cell{p, 0}])
		for i, pressure := range settings[1:] {
			c := cell{p, i + 1}
			points = append(points, cachePoint{p.footprint, pressure.Pressure, stats.Median(traffic[c]), stats.Median(speeds[c]) / alone})
		}
	}
	return points, nil
}

// readBeside is one reading of a probe's speed beside a setting, and that
// setting's traffic, in the placement that is evaluated.
func (s *survey) readBeside(ctx context.Context, probe, known *interferer.Interferer, setting, beside interferer.Setting) (speed, moved float64, err error) {
	const attempts = 100
	for range attempts {
		before, err := s.session.Tag(ctx)
		if err != nil {
			return 0, 0, err
		}
		if err := errors.Join(known.Apply(beside), probe.Apply(setting)); err != nil {
			return 0, 0, err
		}
		time.Sleep(mapWarmUp)
		probeBegan, knownBegan := probe.Counters(), known.Counters()
		time.Sleep(mapWindow)
		reading, traffic := probe.Counters().Since(probeBegan), known.Counters().Since(knownBegan)
		idle := interferer.Setting{Mode: interferer.Idle}
		if err := errors.Join(known.Apply(idle), probe.Apply(idle)); err != nil {
			return 0, 0, err
		}
		after, err := s.session.Tag(ctx)
		if err != nil {
			return 0, 0, err
		}
		if before.Same(after) && before.Class == regime.Class(s.placement) {
			return float64(reading.Traffic.Total()), float64(traffic.Traffic.Total()), nil
		}
	}
	return 0, 0, fmt.Errorf("the CPUs are not placed as %s: try again later", s.placement)
}
