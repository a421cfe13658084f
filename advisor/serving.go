package advisor

import (
	"fmt"
	"math"
	"sync"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// busySteps is in how many steps of 1 a slowdown says how busy a service is. A step
// changes its traffic by less than 1%, and each is compiled once.
const busySteps = 128

// Serving is a service with a demand on a machine. It is safe for concurrent use.
type Serving struct {
	// Demand has a load, always.
	service.Demand

	// Assumed is true where no load was given: Load is then the highest at which the
	// profile says what neighbors cost.
	Assumed bool
	// Most is the highest slowdown at which the service keeps its demand; below 1 where
	// it misses MaxP99 even alone, 0 where no placement can help it to its load.
	Most units.Slowdown
	// Fault says why the demand cannot be held in full; nil where it can.
	Fault error

	profile *v1alpha1.ApplicationProfile
	compile func(*v1alpha1.ApplicationProfile) (*predictor.Application, error)
	busy    sync.Map // of the step to *predictor.Application
}

// Serve returns the entry of a service with a demand: its curves are those at its load,
// its traffic that of the load alone, and Serving says more. A demand without a load
// takes the service as it was measured. Entries of applications that are no services, and
// entries of which nothing is asked, are returned as they are.
func (a *Advisor) Serve(e Entry, d service.Demand) (Entry, error) {
	if d == (service.Demand{}) || e.Application == nil || !IsService(e.Profile) {
		return e, nil
	}
	v := &Serving{Demand: d, profile: e.Profile}
	measured := e.Profile.Spec.Service
	if d.Load == 0 {
		v.Load, v.Assumed = measuredLoad(measured), true
	}
	if v.Most, v.Fault = v.Demand.Most(measured); v.MaxP99 == 0 && v.Most < 1 {
		v.Most, v.Fault = 0, fmt.Errorf("its load of %.6g requests per second is above its saturation even alone, %.6g", v.Load, measured.SaturationRequestsPerSecond)
	}
	machine := e.Profile.Spec.Machine.Name
	network, link, calibrations, calibrate := a.networks[machine], a.linkOf(machine), a.calibrations, e.Application.Calibrated()
	v.compile = func(p *v1alpha1.ApplicationProfile) (*predictor.Application, error) {
		at := compile(p, network, link, true)
		if err := at.Err(); err != nil || !calibrate {
			return at.Application, err
		}
		calibrated, _ := calibrations.applyOnce(p, at.Application) // else by its curves
		return calibrated, nil
	}
	alone, err := v.compile(service.At(v.profile, v.Load, v.Load))
	if err != nil {
		return e, err
	}
	v.busy.Store(0, alone)
	e.Application, e.Serving = alone, v
	return e, nil
}

// IsService reports whether a profile, which may be nil, is that of a service.
func IsService(p *v1alpha1.ApplicationProfile) bool {
	return p != nil && p.Spec.Service != nil && len(p.Spec.Service.Factors) > 0
}

// measuredLoad is the load at which a service is taken whose load is not said.
func measuredLoad(s *v1alpha1.Service) float64 { return s.Factors[len(s.Factors)-1].RequestsPerSecond }

// At returns the service as busy as a slowdown makes it: it needs so much more CPU time
// for the same requests, up to saturation. Near slowdowns give the same object.
func (v *Serving) At(slowdown units.Slowdown) *predictor.Application {
	most := max(v.profile.Spec.Service.SaturationRequestsPerSecond/v.Load, 1)
	step := 0
	if by := min(float64(slowdown), most); by > 1 {
		step = int(math.Round((by - 1) * busySteps))
	}
	value, ok := v.busy.Load(step)
	if !ok {
		app, err := v.compile(service.At(v.profile, v.Load, (1+float64(step)/busySteps)*v.Load))
		if err != nil { // only traffic differs from what was compiled before
			return v.At(1)
		}
		value, _ = v.busy.LoadOrStore(step, app)
	}
	return value.(*predictor.Application) //nolint:errcheck,forcetypeassert // nothing else is stored
}

// Tightest returns the lower of a limit of the slowdown and that of the demand; 0 is none.
func (v *Serving) Tightest(limit units.Slowdown) units.Slowdown {
	if v.Most != 0 && (limit == 0 || v.Most < limit) {
		return v.Most
	}
	return limit
}

// Holds reports whether a limit is that of the demand.
func (v *Serving) Holds(limit units.Slowdown) bool { return v.Most != 0 && limit == v.Most }

// Exceeded says in words how a service, called by name, misses its demand at a slowdown.
func (v *Serving) Exceeded(name string, slowdown units.Slowdown) string {
	if p99, ok := v.p99(slowdown); ok {
		return fmt.Sprintf("predicted p99 %s for %s at %s, whose limit is %s", p99, name, v.load(), v.MaxP99)
	}
	return fmt.Sprintf("%s would keep up with %.6g requests per second at most, and its load is %s",
		name, v.profile.Spec.Service.SaturationRequestsPerSecond/float64(slowdown), v.load())
}

// Served says in words how a service fares at a slowdown; empty for an application that
// is none.
func (e Entry) Served(slowdown units.Slowdown) string {
	v := e.Serving
	if v == nil {
		if !IsService(e.Profile) {
			return ""
		}
		return fmt.Sprintf("its load is not said: taken as it was measured, at %.6g requests per second", measuredLoad(e.Profile.Spec.Service))
	}
	if p99, ok := v.p99(slowdown); ok {
		return fmt.Sprintf("p99 %s at %s", p99, v.load())
	}
	if v.Fault != nil {
		return v.Fault.Error()
	}
	return fmt.Sprintf("keeps up with %.6g requests per second at most, its load is %s", v.profile.Spec.Service.SaturationRequestsPerSecond/float64(slowdown), v.load())
}

// P99 returns the 99th percentile of the latency at a slowdown, in seconds. The error
// wraps service.ErrSaturated or service.ErrNoSweep.
func (v *Serving) P99(slowdown units.Slowdown) (float64, error) {
	curve, err := service.New(v.profile.Spec.Service)
	if err != nil {
		return 0, err
	}
	p99, _, _, err := curve.P99(float64(slowdown) * v.Load)
	return float64(slowdown) * p99, err
}

// p99 is P99 as it is written, with three digits.
func (v *Serving) p99(slowdown units.Slowdown) (time.Duration, bool) {
	seconds, err := v.P99(slowdown)
	if err != nil {
		return 0, false
	}
	const digits = 3
	unit := math.Pow(10, math.Floor(math.Log10(seconds))-digits+1)
	return time.Duration(math.Round(math.Round(seconds/unit) * unit * float64(time.Second))), true
}

// load is the load as it is written.
func (v *Serving) load() string {
	text := fmt.Sprintf("%.6g requests per second", v.Load)
	if v.Assumed {
		text += " (assumed: its load is not said)"
	}
	return text
}
