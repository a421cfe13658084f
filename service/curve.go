package service

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/interp"

	"bandmate.dev/bandmate/api/v1alpha1"
)

var (
	// ErrNoSweep is wrapped where a profile has no latencies: it was measured with
	// a closed loop, or is not of a service.
	ErrNoSweep = errors.New("no load sweep")
	// ErrSaturated is wrapped where a load is above 99% of saturation: the queue
	// may grow without end, and no latency can be named.
	ErrSaturated = errors.New("the load is above 99% of saturation")
)

const (
	// nearSaturation is the share of the saturation from which a measured latency is
	// that of a queue that was still growing.
	nearSaturation = 0.98
	// mostOfSaturation is the share of the saturation up to which a latency is named:
	// beyond it the uncertainty of the saturation decides.
	mostOfSaturation = 0.99
)

// Curve is the p99 of a service alone against its load.
type Curve struct {
	saturation float64
	// first and last are the positions of the measured loads at the ends.
	first, last float64
	// logs interpolates ln p99, spreads its standard error.
	logs, spreads interp.Predictor
	lastLog       float64
	// spreadless is true where the profile does not say how precise a p99 is.
	spreadless bool
}

// New returns the curve of a load sweep. The error wraps ErrNoSweep where no load was
// measured below saturation.
//
// Between loads, ln p99 is interpolated by a cubic that keeps the order of neighbors
// (Fritsch and Butland 1984) against -ln(1 - ρ), where ρ is the load ÷ saturation: a
// straight line for M/M/1, and nearly one for queues like it. Above the highest load
// p99 grows as 1 ÷ (1 - ρ), as in heavy traffic (Kingman 1961). Below the lowest it is
// that of the lowest.
func New(s *v1alpha1.Service) (*Curve, error) {
	c := &Curve{saturation: s.SaturationRequestsPerSecond}
	var at, logs, spreads []float64
	for _, l := range s.Loads {
		position := c.position(l.RequestsPerSecond)
		if l.RequestsPerSecond >= nearSaturation*c.saturation || len(at) > 0 && position <= at[len(at)-1] {
			continue
		}
		at = append(at, position)
		logs = append(logs, math.Log(l.P99Seconds))
		spread := 0.0
		if l.P99RelativeSpread != nil {
			spread = *l.P99RelativeSpread
		} else {
			c.spreadless = true
		}
		spreads = append(spreads, spread)
	}
	if len(at) == 0 {
		return nil, fmt.Errorf("%w below saturation: onboard the service with --service --request", ErrNoSweep)
	}
	c.first, c.last, c.lastLog = at[0], at[len(at)-1], logs[len(logs)-1]
	if len(at) == 1 {
		c.logs, c.spreads = interp.Constant(logs[0]), interp.Constant(spreads[0])
		return c, nil
	}
	var cubic interp.FritschButland
	var lines interp.PiecewiseLinear
	if err := errors.Join(cubic.Fit(at, logs), lines.Fit(at, spreads)); err != nil {
		return nil, fmt.Errorf("load sweep: %w", err)
	}
	c.logs, c.spreads = &cubic, &lines
	return c, nil
}

// position returns -ln(1 - ρ).
func (c *Curve) position(load float64) float64 { return -math.Log1p(-load / c.saturation) }

// P99 returns the 99th percentile of the latency alone at a load in requests per
// second, and its relative standard error, 0 where it is not known. Below the lowest load, the error includes how
// much lower the p99 of an M/M/1 queue would be. Extrapolated says that no load as high was
// measured. The error wraps ErrSaturated.
func (c *Curve) P99(load float64) (p99, spread float64, extrapolated bool, err error) {
	if !(load < mostOfSaturation*c.saturation) {
		return 0, 0, false, fmt.Errorf("%w: %.6g requests per second, saturation %.6g", ErrSaturated, load, c.saturation)
	}
	at := c.position(load)
	if at > c.last {
		return math.Exp(c.lastLog + at - c.last), c.spreads.Predict(c.last), true, nil
	}
	below := max(c.first-at, 0)
	at = max(at, c.first)
	return math.Exp(c.logs.Predict(at)), math.Hypot(c.spreads.Predict(at), below/visits90), false, nil
}

// farBelow is the distance below the lowest measured position at which p99 may be much
// lower: a fifth, for M/M/1.
const farBelow = 0.2

// below reports whether a load is far below the lowest measured.
func (c *Curve) below(load float64) bool { return c.first-c.position(load) > farBelow }

// Saturation returns the highest rate of answers alone, per second.
func (c *Curve) Saturation() float64 { return c.saturation }
