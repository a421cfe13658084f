// Package config holds the arguments of the Bandmate plugin in the form that the
// scheduler works with. People write those of package v1, in the pluginConfig of
// a KubeSchedulerConfiguration.
//
// +kubebuilder:object:generate=true
package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// UnlabeledPolicy says what a pod is that names no application.
type UnlabeledPolicy string

const (
	// UnlabeledIgnored takes it out of all reckoning: it is scheduled as though
	// the plugin did not exist, and presses on others only where a node agent
	// measures the traffic of its node.
	UnlabeledIgnored UnlabeledPolicy = "ignore"
	// UnlabeledUnknown treats it as an application without a profile.
	UnlabeledUnknown UnlabeledPolicy = "unknown"
)

// InvalidPolicy says what to do with a pod whose annotations cannot be read.
type InvalidPolicy string

const (
	// InvalidIgnored schedules it as though it had no such annotation.
	InvalidIgnored InvalidPolicy = "ignore"
	// InvalidRejected leaves it pending until it is corrected.
	InvalidRejected InvalidPolicy = "reject"
)

// BandmateArgs are the arguments of the plugin. Package v1 says what each means,
// and sets the defaults; here all of them are set.
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
	MeasuredTrafficMaxAge metav1.Duration
	ExactDomains          int32
	PlacementEvents       bool
	DecisionLog           bool
}

// AddToScheme makes the arguments known as an internal version of the group that
// the scheduler's own configuration has.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: schedulerv1.GroupName, Version: runtime.APIVersionInternal}, &BandmateArgs{})
	return nil
}
