package v1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/units"
)

// AddToScheme makes this version known to a scheduler's configuration scheme,
// with its defaults and its conversions.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schedulerv1.SchemeGroupVersion, &BandmateArgs{})
	scheme.AddTypeDefaultingFunc(&BandmateArgs{}, func(o any) {
		if a, ok := o.(*BandmateArgs); ok {
			SetDefaults(a)
		}
	})
	if err := scheme.AddConversionFunc((*BandmateArgs)(nil), (*config.BandmateArgs)(nil), func(from, to any, _ conversion.Scope) error {
		in, ok := from.(*BandmateArgs)
		out, okToo := to.(*config.BandmateArgs)
		if !ok || !okToo {
			return fmt.Errorf("conversion of %T to %T: want BandmateArgs", from, to)
		}
		*out = in.internal()
		return nil
	}); err != nil {
		return err
	}
	return scheme.AddConversionFunc((*config.BandmateArgs)(nil), (*BandmateArgs)(nil), func(from, to any, _ conversion.Scope) error {
		in, ok := from.(*config.BandmateArgs)
		out, okToo := to.(*BandmateArgs)
		if !ok || !okToo {
			return fmt.Errorf("conversion of %T to %T: want BandmateArgs", from, to)
		}
		*out = external(in)
		return nil
	})
}

// Decode reads arguments that no scheme knew: JSON or YAML, strictly. Empty text
// gives the defaults.
func Decode(text []byte) (*config.BandmateArgs, error) {
	var a BandmateArgs
	if len(text) > 0 {
		if err := yaml.UnmarshalStrict(text, &a); err != nil {
			return nil, fmt.Errorf("args of Bandmate: %w", err)
		}
	}
	SetDefaults(&a)
	converted := a.internal()
	return &converted, nil
}

// internal converts arguments with defaults.
func (a *BandmateArgs) internal() config.BandmateArgs {
	return config.BandmateArgs{
		Objective:             score.Objective(a.Objective),
		UnknownApplications:   score.Policy(a.UnknownApplications),
		AssumedBandwidth:      units.Bandwidth(valueOf(a.AssumedBytesPerSecond)),
		AssumedReadShare:      units.ReadShare(valueOf(a.AssumedReadShare)),
		UnlabeledPods:         config.UnlabeledPolicy(a.UnlabeledPods),
		InvalidAnnotations:    config.InvalidPolicy(a.InvalidAnnotations),
		UnverifiableLimits:    config.UnverifiablePolicy(a.UnverifiableLimits),
		ProtectLimits:         valueOf(a.ProtectLimits),
		MeasuredTrafficMaxAge: valueOf(a.MeasuredTrafficMaxAge),
		ExactDomains:          valueOf(a.ExactDomains),
		PlacementEvents:       valueOf(a.PlacementEvents),
		DecisionLog:           valueOf(a.DecisionLog),
	}
}

func external(a *config.BandmateArgs) BandmateArgs {
	bandwidth, share := float64(a.AssumedBandwidth), float64(a.AssumedReadShare)
	return BandmateArgs{
		Objective:             string(a.Objective),
		UnknownApplications:   string(a.UnknownApplications),
		AssumedBytesPerSecond: &bandwidth,
		AssumedReadShare:      &share,
		UnlabeledPods:         string(a.UnlabeledPods),
		InvalidAnnotations:    string(a.InvalidAnnotations),
		UnverifiableLimits:    string(a.UnverifiableLimits),
		ProtectLimits:         new(a.ProtectLimits),
		MeasuredTrafficMaxAge: new(a.MeasuredTrafficMaxAge),
		ExactDomains:          new(a.ExactDomains),
		PlacementEvents:       new(a.PlacementEvents),
		DecisionLog:           new(a.DecisionLog),
	}
}

func valueOf[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
