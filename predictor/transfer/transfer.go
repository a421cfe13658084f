package transfer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

var (
	// ErrOtherMachine is wrapped where a profile was not measured on the machine
	// that it is to be transferred from, or was itself transferred.
	ErrOtherMachine = errors.New("not measured on that machine")
	// ErrIncomparable is wrapped where two machines have too little in common: no
	// read share of the curves at which both were measured, or so much less
	// bandwidth that no point of the curves remains.
	ErrIncomparable = errors.New("the machines cannot be compared")
)

// Uncertainty of a transferred profile, as the standard deviation of the lost
// performance relative to the loss. They are judgments; docs/results/onboarding.md
// says how many simulated pairs the intervals then contain.
const (
	capacityUncertainty  = 0.25
	sustainedUncertainty = 1
	// otherCache is added in quadrature where the curves contain contention for a
	// last-level cache and the caches differ.
	otherCache = 0.30
	// trafficUncertainty is the relative half width of the 90% interval that a
	// transfer adds to the contentiousness.
	trafficUncertainty = 0.10
)

// Profile returns the profile that the application of app, measured on the machine
// from, is expected to have on the machine to: its contentiousness, its curves against
// the bandwidth that the interferer would reach there, and spec.transferred, which widens
// the interval of predictions. Its warnings say what is doubtful. Profile does not
// change app, and returns app itself where it was measured on to.
//
// It fails with ErrOtherMachine where app was not measured on from, and with
// ErrIncomparable where the machine profiles have no read share of its curves in
// common; both errors say what to do.
func Profile(app *v1alpha1.ApplicationProfile, from, to *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	switch {
	case app.Spec.Machine.Name == to.Name:
		return app, nil
	case app.Spec.Machine.Name != from.Name:
		return nil, fmt.Errorf("transferring %s from %s: %w: its profile is of %s: transfer it from there",
			app.Name, from.Name, ErrOtherMachine, app.Spec.Machine.Name)
	case app.Spec.Transferred != nil:
		return nil, fmt.Errorf("transferring %s from %s: %w: that profile was transferred from %s itself: transfer the measured one",
			app.Name, from.Name, ErrOtherMachine, app.Spec.Transferred.FromMachine)
	}
	c := newConversion(app, from, to)
	curves, err := c.curves()
	if err != nil {
		return nil, fmt.Errorf("transferring %s from %s to %s: %w", app.Name, from.Name, to.Name, err)
	}
	transferred := app.DeepCopy()
	s := &transferred.Spec
	s.Machine = v1alpha1.MachineReference{Name: to.Name, CPUModel: to.Spec.CPUModel}
	s.Curves = curves
	s.Contentiousness, s.Phases = c.contentiousness(), c.phases()
	s.Distance = c.distance()
	c.communicate(s.Communication)
	s.Solo = v1alpha1.Timing{
		Seconds: app.Spec.Solo.Seconds / float64(c.speed), RelativeSpread: app.Spec.Solo.RelativeSpread, Repeats: app.Spec.Solo.Repeats,
	}
	s.Measurement.Regime, s.Measurement.SharedLastLevelCache = c.placement()
	s.Transferred = &v1alpha1.Transfer{
		FromMachine: from.Name, Method: c.method, LossUncertainty: min(c.uncertainty(), 1), CapacityBytesPerSecond: c.capacity,
	}
	s.Warnings = append(slices.Clone(app.Spec.Warnings), c.warnings...)
	if s.Service != nil {
		// Latencies hang on more than the memory.
		s.Service = nil
		s.Warnings = append(s.Warnings, "the load sweep holds on "+from.Name+" only: no latency or saturation is predicted")
	}
	s.Warnings = s.Warnings[:min(len(s.Warnings), v1alpha1.MaxWarnings)]
	return transferred, nil
}

// conversion is the transfer of one profile.
type conversion struct {
	app      *v1alpha1.ApplicationProfile
	from, to *v1alpha1.MachineProfile
	method   string
	// ratio is the capacity of to ÷ that of from; 0 where the sustained bandwidth
	// of each read share is used instead.
	ratio units.Bandwidth
	// capacity is that of to; nil when unknown.
	capacity *float64
	// speed is that of the application alone on to ÷ alone on from, as far as memory
	// determines it: cores are assumed to be equally fast.
	speed    units.NormalizedPerformance
	warnings []string
}

func newConversion(app *v1alpha1.ApplicationProfile, from, to *v1alpha1.MachineProfile) *conversion {
	c := &conversion{app: app, from: from, to: to, method: v1alpha1.TransferredBySustained}
	regime := ""
	if r := app.Spec.Measurement.Regime; r != nil {
		regime = r.Name
	}
	c.warn("transferred from %s, not measured on %s: onboard it there", from.Name, to.Name)
	there, knownThere := capacity(from, regime)
	here, knownHere := capacity(to, regime)
	if knownThere && knownHere {
		c.method, c.ratio = v1alpha1.TransferredByCapacity, here/there
		c.capacity = new(float64(here))
	} else {
		c.warn("the probe map of %s or %s is missing, so pressure is scaled by what one interferer sustains: measure both with: bandmate machine",
			from.Name, to.Name)
	}
	if a, b := from.Spec.CPUModel, to.Spec.CPUModel; a != b && a != "" && b != "" {
		c.warn("the cores of %s (%s) and %s (%s) are taken to be equally fast", from.Name, a, to.Name, b)
	}
	if c.cacheDiffers() {
		c.warn("its curves hold contention for a last-level cache of %d MiB, %s has %d MiB",
			from.Spec.LastLevelCacheBytes>>20, to.Name, to.Spec.LastLevelCacheBytes>>20)
	}
	c.speed = c.speedAlone()
	return c
}

func (c *conversion) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// cacheDiffers reports whether the curves contain contention for a last-level cache
// of another size than that of to.
func (c *conversion) cacheDiffers() bool {
	shared := c.app.Spec.Measurement.SharedLastLevelCache
	return shared != nil && *shared && c.from.Spec.LastLevelCacheBytes != c.to.Spec.LastLevelCacheBytes
}

func (c *conversion) uncertainty() float64 {
	loss := capacityUncertainty
	if c.method == v1alpha1.TransferredBySustained {
		loss = sustainedUncertainty
	}
	if c.cacheDiffers() {
		loss = math.Hypot(loss, otherCache)
	}
	return loss
}

// placement returns the placement regime on to: that of the measurement where to was
// measured in it as well, else the one in which to was measured.
func (c *conversion) placement() (*v1alpha1.Regime, *bool) {
	was := &c.app.Spec.Measurement
	if was.Regime == nil || slices.ContainsFunc(c.to.Spec.ProbeMap, func(p v1alpha1.ProbePoint) bool { return p.Regime == was.Regime.Name }) {
		return was.Regime, was.SharedLastLevelCache
	}
	is := &c.to.Spec.Measurement
	if is.Regime != nil && is.Regime.Name != was.Regime.Name {
		c.warn("measured in the %s placement of the CPUs, used in the %s one", was.Regime.Name, is.Regime.Name)
	}
	return is.Regime, is.SharedLastLevelCache
}

// contentiousness scales the traffic as a co-runner.
func (c *conversion) contentiousness() v1alpha1.Contentiousness {
	t := *c.app.Spec.Contentiousness.DeepCopy()
	if c.nearer() {
		target := c.own()
		t.ReadBytesPerSecond, t.WriteBytesPerSecond = float64(target.Read), float64(target.Write)
	}
	speed := float64(c.speed)
	t.ReadBytesPerSecond *= speed
	t.WriteBytesPerSecond *= speed
	added := math.Max(trafficUncertainty, math.Abs(1-speed)/2)
	if t.RelativeUncertainty != nil {
		added = math.Hypot(added, *t.RelativeUncertainty)
	}
	t.RelativeUncertainty = &added
	by := c.factors()
	for i := range t.Timeline {
		s := &t.Timeline[i]
		s.Seconds *= by.seconds
		s.ReadBytesPerSecond *= by.read
		s.WriteBytesPerSecond *= by.write
	}
	return t
}

// phases scales the phases as a co-runner.
func (c *conversion) phases() []v1alpha1.Phase {
	phases := slices.Clone(c.app.Spec.Phases)
	by := c.factors()
	for i := range phases {
		phases[i].ReadBytesPerSecond *= by.read
		phases[i].WriteBytesPerSecond *= by.write
	}
	return phases
}

// communicate scales the exchanged data by the speed alone.
func (c *conversion) communicate(exchanged *v1alpha1.Communication) {
	if exchanged == nil {
		return
	}
	for _, rate := range []*float64{exchanged.SentBytesPerSecond, exchanged.ReceivedBytesPerSecond} {
		if rate != nil {
			*rate *= float64(c.speed)
		}
	}
}
