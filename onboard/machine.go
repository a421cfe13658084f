package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

// MachineOptions says how a machine is measured.
type MachineOptions struct {
	// Name becomes the profile's metadata.name.
	Name string
	// ReadShares at which the sustained bandwidth is measured.
	ReadShares []units.ReadShare
	// ProbeGrid holds the known pressures beside which the probes are calibrated.
	ProbeGrid []Pressure
	// Precision of each point.
	Precision Precision
	Reporter  Reporter
	Version   string
}

// MeasureMachine measures the sustained bandwidth of every read share and
// calibrates the probes, all in one regime.
func (s *Session) MeasureMachine(ctx context.Context, o MachineOptions) (profile *v1alpha1.MachineProfile, err error) {
	calibration := s.NewCalibration(o.ProbeGrid)
	defer func() { err = errors.Join(err, calibration.Close()) }()
	plan := Plan{
		Conditions: append(s.sustainedConditions(o.ReadShares), calibration.Conditions(nil)...),
		Precision:  o.Precision, Tag: s.Tag, Reporter: o.Reporter, Random: s.Random,
	}
	outcome, err := plan.Run(ctx)
	if err != nil {
		return nil, err
	}
	return s.machineProfile(ctx, o, calibration, outcome)
}

// machineProfile turns an outcome with sustained and calibration conditions
// into a profile.
func (s *Session) machineProfile(ctx context.Context, want MachineOptions, c *Calibration, o *Outcome) (*v1alpha1.MachineProfile, error) {
	sustained, err := sustainedBandwidths(want.ReadShares, o)
	if err != nil {
		return nil, err
	}
	points, err := c.Points(ctx, o)
	if err != nil {
		return nil, err
	}
	profile := s.newMachineProfile(want, o.circumstances())
	profile.Spec.Sustained, profile.Spec.ProbeMap = sustained, points
	return profile, nil
}

// newMachineProfile returns a profile without measurements.
func (s *Session) newMachineProfile(want MachineOptions, c circumstances) *v1alpha1.MachineProfile {
	profile := &v1alpha1.MachineProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindMachineProfile},
		ObjectMeta: metav1.ObjectMeta{Name: want.Name},
		Spec: v1alpha1.MachineProfileSpec{
			CPUModel:       s.Machine.CPUModel,
			Sockets:        s.Machine.Sockets(),
			NUMANodes:      len(s.Machine.Nodes),
			CPUs:           s.Machine.Online().Size(),
			MemoryBytes:    s.Machine.MemoryBytes,
			VirtualMachine: s.Machine.VirtualMachine,
			Measurement:    s.measurement(c, want.Version),
			Warnings:       s.Warnings(),
		},
	}
	if cache, ok := s.Machine.LastLevelCache(s.Placement.Interferer.List()[0]); ok {
		profile.Spec.LastLevelCacheBytes = cache.Bytes
	}
	return profile
}

// sustainedConditions run the unpaced interferer alone at every read share.
func (s *Session) sustainedConditions(shares []units.ReadShare) []Condition {
	var all []Condition
	for _, share := range shares {
		setting := interferer.Setting{Mode: interferer.Stream, ReadShare: share, Pattern: interferer.Sequential}
		all = append(all, Condition{
			Target: sustainedLabel(share),
			Run: func(ctx context.Context) (Observation, error) {
				achieved, err := s.alone(ctx, settingsOf(setting), aloneWindow)
				if err != nil {
					return Observation{}, err
				}
				return rateObservation(achieved, achieved)
			},
		})
	}
	return all
}

func sustainedBandwidths(shares []units.ReadShare, o *Outcome) ([]v1alpha1.SustainedBandwidth, error) {
	var all []v1alpha1.SustainedBandwidth
	for _, share := range shares {
		timing, ok := o.Solo(sustainedLabel(share))
		if !ok {
			return nil, fmt.Errorf("sustained bandwidth at %s reads was not measured", share)
		}
		all = append(all, v1alpha1.SustainedBandwidth{
			ReadShare:      float64(share),
			Pattern:        string(interferer.Sequential),
			BytesPerSecond: rateWork / timing.Seconds,
			RelativeSpread: timing.RelativeSpread,
			Repeats:        timing.Repeats,
		})
	}
	return all, nil
}

func sustainedLabel(share units.ReadShare) string {
	return fmt.Sprintf("interferer at %s reads", share)
}

// rateWork is the work, in bytes, whose time stands for a rate.
const rateWork = 1e9

// errStarved says that other programs kept the interferer from its CPUs for a whole
// sample. The next sample may succeed.
var errStarved = errors.New("the stream moved nothing: free the CPUs of the experiment")

// errDisturbed says that other programs slowed a probe down while it was alone. The
// next sample may succeed.
var errDisturbed = errors.New("the interferer was much slower alone than beside the application: other programs keep it from its CPUs: repeat the measurement on a quieter machine")

// rateObservation expresses a stream's rate as the time of fixed work, so that
// a plan treats streams like applications.
func rateObservation(stream, beside interferer.Achieved) (Observation, error) {
	rate := stream.Traffic.Total()
	if rate <= 0 {
		return Observation{}, errStarved
	}
	return Observation{Wall: time.Duration(float64(time.Second) * rateWork / float64(rate)), Achieved: beside}, nil
}
