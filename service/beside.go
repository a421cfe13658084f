package service

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// Factor is by how much neighbors stretch service times, with its 90% interval.
type Factor struct {
	Slowdown, Low, High units.Slowdown
}

// LatencyInterval is a range of seconds that holds a latency with a probability of 90%.
// High is nil where the service may be saturated.
type LatencyInterval struct {
	Low  float64  `json:"low"`
	High *float64 `json:"high,omitempty"`
}

// Answer is how a service fares at a load beside neighbors. Its JSON form is that of
// `bandmate predict --load -o json`.
type Answer struct {
	// Load is in requests per second, as the saturations are.
	Load float64 `json:"load"`
	// P99AloneSeconds and P99BesideSeconds are the 99th percentiles of the latency;
	// nil where the load is above saturation, or no latencies were measured.
	P99AloneSeconds  *float64         `json:"p99AloneSeconds,omitempty"`
	P99BesideSeconds *float64         `json:"p99BesideSeconds,omitempty"`
	P99Interval      *LatencyInterval `json:"p99Interval,omitempty"`
	// MaxP99Seconds is the limit of P99BesideSeconds, and Kept whether it is kept;
	// nil without a limit. Kept is nil as well where no latencies were measured.
	MaxP99Seconds    *float64 `json:"maxP99Seconds,omitempty"`
	Kept             *bool    `json:"kept,omitempty"`
	SaturationAlone  float64  `json:"saturationAlone"`
	SaturationBeside float64  `json:"saturationBeside"`
	// Warnings are the warnings about the answer; never nil.
	Warnings []string `json:"warnings"`
}

// Beside returns how a service fares at a load beside neighbors. Factor returns by how
// much they stretch its service times at a load; its errors are returned unchanged.
// Loads above saturation get no latency but a warning.
func Beside(s *v1alpha1.Service, load float64, factor func(load float64) (Factor, error)) (Answer, error) {
	a := Answer{Load: load, SaturationAlone: s.SaturationRequestsPerSecond, Warnings: []string{}}
	at, err := factor(load)
	if err != nil {
		return a, err
	}
	if a.SaturationBeside, err = saturationBeside(a.SaturationAlone, factor); err != nil {
		return a, err
	}
	if s.SaturationAtLeast {
		a.warn("saturation: the load of the onboarding was, or may have been, at its limit first: the service may take more than this says")
	}
	curve, err := New(s)
	if errors.Is(err, ErrNoSweep) {
		a.warn(err.Error())
		return a, nil
	}
	if err != nil {
		return a, err
	}
	if alone, _, extrapolated, err := curve.P99(load); err == nil {
		a.P99AloneSeconds = &alone
		if extrapolated {
			a.warnExtrapolated(s, load)
		} else if curve.below(load) {
			a.warn(fmt.Sprintf("p99 at %.6g requests per second is that of the lowest load measured, %.6g, and may be lower: onboard the service with a longer --load-time", load, s.Loads[0].RequestsPerSecond))
		}
	} else {
		a.warn(err.Error() + ": the queue may grow without end, even alone")
		return a, nil
	}
	a.beside(curve, s, at)
	return a, nil
}

// The number of standard errors that a 90% interval reaches to each side: normal90 where
// the standard error is known well, visits90 where it is estimated from four visits of a
// load.
var (
	normal90 = distuv.UnitNormal.Quantile(0.95)
	visits90 = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 3}.Quantile(0.95)
)

// beside fills in the latency beside neighbors that stretch by f.
func (a *Answer) beside(c *Curve, s *v1alpha1.Service, f Factor) {
	stretched := func(by float64) (p99, spread float64, extrapolated bool, err error) {
		p99, spread, extrapolated, err = c.P99(by * a.Load)
		return by * p99, spread, extrapolated, err
	}
	middle := float64(f.Slowdown)
	p99, spread, extrapolated, err := stretched(middle)
	if err != nil || !(a.Load < mostOfSaturation*a.SaturationBeside) {
		a.warn(fmt.Sprintf("beside its neighbors the load is above 99%% of saturation, %.6g requests per second: the queue may grow without end, and no p99 is named", a.SaturationBeside))
		return
	}
	if extrapolated {
		a.warnExtrapolated(s, middle*a.Load)
	}
	a.P99BesideSeconds = &p99
	saturation := 0.0
	if s.SaturationRelativeSpread != nil {
		saturation = *s.SaturationRelativeSpread
	}
	if c.spreadless || s.SaturationRelativeSpread == nil {
		a.warn("the interval of p99 is too narrow: the profile lacks the spread of p99 or of the saturation: onboard the service again")
	}
	// The uncertainty of the saturation shifts the load by as much; independent errors
	// add up in quadrature, in logarithms.
	reach := func(factor float64) (float64, error) {
		ofFactor := math.Log(factor / middle)
		p, _, _, err := stretched(middle * math.Exp(math.Copysign(math.Hypot(ofFactor, normal90*saturation), ofFactor)))
		return math.Hypot(math.Log(p/p99), visits90*spread), err
	}
	a.P99Interval = &LatencyInterval{}
	low, err := reach(max(min(float64(f.Low), middle*(1-1e-9)), 1e-3))
	if err == nil {
		a.P99Interval.Low = p99 * math.Exp(-low)
	}
	high, err := reach(max(float64(f.High), middle*(1+1e-9)))
	if err != nil {
		a.warn("the service may be saturated: the interval of p99 has no upper end")
		return
	}
	end := p99 * math.Exp(high)
	if math.IsInf(end, 1) {
		a.warn("p99 was measured too unsurely: its interval has no upper end")
		return
	}
	a.P99Interval.High = &end
}

// Hold compares the answer with a limit of p99 above 0. Without end is above any limit.
func (a *Answer) Hold(limit time.Duration) {
	seconds := limit.Seconds()
	a.MaxP99Seconds = &seconds
	switch {
	case a.P99BesideSeconds != nil:
		a.Kept = new(*a.P99BesideSeconds <= seconds)
	case a.P99AloneSeconds != nil || !(a.Load < mostOfSaturation*a.SaturationBeside):
		a.Kept = new(false)
	}
}

func (a *Answer) warn(w string) { a.Warnings = append(a.Warnings, w) }

func (a *Answer) warnExtrapolated(s *v1alpha1.Service, load float64) {
	highest := 0.0
	for _, l := range s.Loads {
		if l.RequestsPerSecond < nearSaturation*s.SaturationRequestsPerSecond {
			highest = max(highest, l.RequestsPerSecond)
		}
	}
	a.warn(fmt.Sprintf("p99 at %.6g requests per second alone is extrapolated: the highest load measured is %.6g", load, highest))
}

const (
	// saturationRounds bounds the search for the load that saturates.
	saturationRounds = 30
	// saturationSettled is the relative change at which the search ends.
	saturationSettled = 1e-4
)

// saturationBeside solves λ = saturation ÷ s(λ), by secants that stay between a load that
// is too low and one that is too high. Where s does not depend on the load, the second is
// the answer.
func saturationBeside(saturation float64, factor func(load float64) (Factor, error)) (float64, error) {
	load, low, high := saturation, 0.0, math.Inf(1)
	var last, lastMissing float64
	for round := range saturationRounds {
		f, err := factor(load)
		if err != nil {
			return 0, err
		}
		missing := saturation/float64(f.Slowdown) - load
		if math.Abs(missing) <= saturationSettled*load {
			return load + missing, nil
		}
		if missing > 0 {
			low = load
		} else {
			high = load
		}
		next := load + missing
		if round > 0 {
			next = load - missing*(load-last)/(missing-lastMissing)
		}
		if !(next > low && next < high) {
			next = (low + min(high, load+max(missing, 0))) / 2
		}
		last, lastMissing, load = load, missing, next
	}
	return load, nil
}
