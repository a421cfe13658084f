package service

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// Demand is the load and the limit of p99 of a service. The zero value has neither.
type Demand struct {
	// Load is in requests per second, v1alpha1.MinRequestsPerSecond to
	// v1alpha1.MaxRequestsPerSecond; 0 where it is not specified.
	Load float64
	// MaxP99 is the highest 99th percentile of the latency that it tolerates; 0 means
	// any.
	MaxP99 time.Duration
}

// scanned is how many slowdowns Most tries before it bisects: a measured p99 may fall
// where the load grows.
const scanned = 128

// mostSlowdown is the highest that Most returns, for loads near 0 as well.
const mostSlowdown = 1e6

// bisections halve what is left of the range to below any rounding.
const bisections = 50

// Most returns the highest slowdown of its service times at which a service keeps a
// demand with a load: the load stays below saturation, and p99 within MaxP99 if there is
// one, at every slowdown below as well. It is below 1 for a demand that the service does
// not keep even alone, and at most 1e6. The error wraps ErrNoSweep where MaxP99 cannot be
// compared with any latency; the slowdown is then that of saturation.
func (d Demand) Most(s *v1alpha1.Service) (units.Slowdown, error) {
	most := min(mostOfSaturation*s.SaturationRequestsPerSecond/d.Load, mostSlowdown)
	if d.MaxP99 == 0 {
		return units.Slowdown(most), nil
	}
	curve, err := New(s)
	if err != nil {
		return units.Slowdown(most), err
	}
	keeps := func(by float64) bool {
		p99, _, _, err := curve.P99(by * d.Load)
		return err == nil && by*p99 <= d.MaxP99.Seconds()
	}
	low, high := 0.0, min(1, most)
	if keeps(1) {
		low, high = 1, 1
		step := math.Pow(most, 1.0/scanned)
		for i := 0; i < scanned && keeps(high); i++ {
			low, high = high, high*step
		}
	}
	low, _ = stats.Bisect(low, high, bisections, keeps)
	return units.Slowdown(low), nil
}

// ParseLoads reads loads of the members of a group in requests per second, in any order:
// RATE is that of the first member, NAME=RATE that of all members of this name without one of
// their own. A member without one has 0. Two for the same are an error.
func ParseLoads(texts, names []string) ([]float64, error) {
	return assign(texts, names, "requests per second, 1e-6 to 1e9, such as 20000 or NAME=20000", func(text string) (float64, bool) {
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil && v >= v1alpha1.MinRequestsPerSecond && v <= v1alpha1.MaxRequestsPerSecond
	})
}

// ParseMaxP99s reads limits of p99 as ParseLoads reads loads: DURATION or NAME=DURATION.
func ParseMaxP99s(texts, names []string) ([]time.Duration, error) {
	return assign(texts, names, "a duration above 0, such as 2ms or NAME=2ms", func(text string) (time.Duration, bool) {
		v, err := time.ParseDuration(text)
		return v, err == nil && v > 0
	})
}

// assign gives each member its value.
func assign[V any](texts, names []string, want string, parse func(string) (V, bool)) ([]V, error) {
	values := make([]V, len(names))
	given := map[string]bool{} // by name; the bare one by none
	for _, text := range texts {
		name, rest, named := strings.Cut(text, "=")
		if !named {
			name, rest = names[0], text
		}
		v, ok := parse(rest)
		if !ok {
			return nil, fmt.Errorf("%q: want %s", text, want)
		}
		if !slices.Contains(names, name) {
			hint := ""
			if near := v1alpha1.NearNames(name, names); len(near) > 0 {
				hint = ": did you mean " + strings.Join(near, " or ") + "?"
			}
			return nil, fmt.Errorf("%q: %q is not among the applications%s", text, name, hint)
		}
		key := ""
		if named {
			key = name
		}
		if given[key] {
			return nil, fmt.Errorf("%q: %s has one already: give one", text, name)
		}
		given[key] = true
		for i, n := range names {
			// A bare value is that of the first, not of another instance beside it.
			if named && n == name && !(i == 0 && given[""]) || !named && i == 0 {
				values[i] = v
			}
		}
	}
	if given[""] && given[names[0]] && !slices.Contains(names[1:], names[0]) {
		return nil, fmt.Errorf("%s has two, with and without its name: give one", names[0])
	}
	return values, nil
}

// Demands joins loads and limits of the members of a group. A limit without a load is an
// error.
func Demands(names []string, loads []float64, limits []time.Duration) ([]Demand, error) {
	demands := make([]Demand, len(names))
	for i, name := range names {
		if limits[i] > 0 && loads[i] == 0 {
			return nil, fmt.Errorf("want the load of %s, too", name)
		}
		demands[i] = Demand{loads[i], limits[i]}
	}
	return demands, nil
}
