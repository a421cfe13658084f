// Package config holds the arguments of the Bandmate plugin in the form that the
// scheduler uses. Users write those of package v1, in the pluginConfig of a
// KubeSchedulerConfiguration.
//
// +kubebuilder:object:generate=true
package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// UnlabeledPolicy is the treatment of a pod that names no application.
type UnlabeledPolicy string

const (
	// UnlabeledIgnored leaves the pod to the other plugins. It slows others down only
	// where a node agent measures its traffic.
	UnlabeledIgnored UnlabeledPolicy = "ignore"
	// UnlabeledUnknown treats the pod as an application without a profile.
	UnlabeledUnknown UnlabeledPolicy = "unknown"
)

// InvalidPolicy is the treatment of a pod with an invalid annotation.
type InvalidPolicy string

const (
	// InvalidIgnored ignores the annotation.
	InvalidIgnored InvalidPolicy = "ignore"
	// InvalidRejected keeps the pod pending until the annotation is corrected.
	InvalidRejected InvalidPolicy = "reject"
)

// UnverifiablePolicy is the treatment of a limit that cannot be checked.
type UnverifiablePolicy string

const (
	// UnverifiableIgnored counts what is known.
	UnverifiableIgnored UnverifiablePolicy = "ignore"
	// UnverifiableRejected keeps pods from memory domains where a limit cannot be
	// checked because of them.
	UnverifiableRejected UnverifiablePolicy = "reject"
)

// BandmateArgs are the arguments of the plugin. Package v1 documents them and sets
// the defaults; here all of them are set.
//
// +kubebuilder:object:root=true
type BandmateArgs struct {
	metav1.TypeMeta

	Objective             score.Objective
	UnknownApplications   score.Policy
	AssumedBandwidth      units.Bandwidth
	AssumedReadShare      units.ReadShare
	UnlabeledPods         UnlabeledPolicy
	InvalidAnnotations    InvalidPolicy
	UnverifiableLimits    UnverifiablePolicy
	ProtectLimits         bool
	MeasuredTrafficMaxAge metav1.Duration
	ExactDomains          int32
	PlacementEvents       bool
	DecisionLog           bool
}

// Counts reports whether pods of an application are taken into account; the application is
// empty for a pod that names none.
func (a *BandmateArgs) Counts(application string) bool {
	return application != "" || a.UnlabeledPods == UnlabeledUnknown
}

// ScoreOptions returns the options of the score. It fails on invalid assumed traffic.
func (a *BandmateArgs) ScoreOptions() (score.Options, error) {
	options := score.Options{Objective: a.Objective, Unknown: a.UnknownApplications}
	if options.Unknown == score.Assume {
		standIn, err := predictor.Assumed("assumed", units.TrafficOf(a.AssumedBandwidth, a.AssumedReadShare))
		if err != nil {
			return options, err
		}
		options.StandIn = standIn
	}
	return options, options.Validate()
}

// AddToScheme adds the arguments to a scheme, as the internal version of the group
// of the scheduler's own configuration.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: schedulerv1.GroupName, Version: runtime.APIVersionInternal}, &BandmateArgs{})
	return nil
}
