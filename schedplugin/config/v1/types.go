// Package v1 is the form in which the arguments of the Bandmate plugin are
// written, in the pluginConfig of a KubeSchedulerConfiguration:
//
//	apiVersion: kubescheduler.config.k8s.io/v1
//	kind: KubeSchedulerConfiguration
//	profiles:
//	- schedulerName: bandmate-scheduler
//	  plugins:
//	    multiPoint:
//	      enabled: [{name: Bandmate, weight: 10}]
//	  pluginConfig:
//	  - name: Bandmate
//	    args:
//	      unknownApplications: assume
//	      assumedBytesPerSecond: 5e9
//
// +kubebuilder:object:generate=true
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BandmateArgs are the arguments of the plugin. Whatever is left out gets its
// default.
//
// +kubebuilder:object:root=true
type BandmateArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Objective is what a placement costs: added-cost, the CPUs' worth of work
	// lost to contention because of the pod (the default), or worst-slowdown of
	// anybody in the memory domain.
	Objective string `json:"objective,omitempty"`
	// UnknownApplications is the treatment of a pod whose application has no usable
	// profile: ignore assumes no traffic and no slowdown (the default), assume
	// assumes the traffic below, avoid ignores it and separates known from unknown
	// applications where possible.
	UnknownApplications string `json:"unknownApplications,omitempty"`
	// AssumedBytesPerSecond is the traffic that assume takes: reads and writes at
	// the memory controller, above 0. It has no default.
	AssumedBytesPerSecond *float64 `json:"assumedBytesPerSecond,omitempty"`
	// AssumedReadShare is its read share, 0 to 1; 0.75 by default.
	AssumedReadShare *float64 `json:"assumedReadShare,omitempty"`
	// UnlabeledPods is the treatment of a pod that names no application: ignore
	// leaves it to the other plugins (the default), unknown treats it as an unknown
	// application.
	UnlabeledPods string `json:"unlabeledPods,omitempty"`
	// InvalidAnnotations is the treatment of a pod with an invalid limit or NUMA
	// node: ignore the annotation (the default), or reject the pod. Either way an
	// event on the pod reports it.
	InvalidAnnotations string `json:"invalidAnnotations,omitempty"`
	// UnverifiableLimits is the treatment of a limit that cannot be checked, because
	// the pod with the limit, or one beside it, has no usable profile: ignore counts
	// what is known (the default), reject keeps the pod from such memory domains.
	// Events report limits of running pods in both cases.
	UnverifiableLimits string `json:"unverifiableLimits,omitempty"`
	// ProtectLimits keeps a pod of higher priority from preempting a pod whose limit
	// it would exceed, also as a member of a group; false by default.
	ProtectLimits *bool `json:"protectLimits,omitempty"`
	// MeasuredTrafficMaxAge is how old the traffic that a node agent measured may
	// be, or how far in the future by a clock that is wrong; 2m by default.
	MeasuredTrafficMaxAge *metav1.Duration `json:"measuredTrafficMaxAge,omitempty"`
	// ExactDomains is how many memory domains, those of the best estimates, are
	// scored exactly for each pod where few pods share them or no model of the
	// memory describes all of these; 4 by default, 1 to 1000.
	ExactDomains *int32 `json:"exactDomains,omitempty"`
	// PlacementEvents writes an event with the prediction on every placed pod, at up
	// to five a second while pods arrive, and a hundred a second afterward; true by
	// default.
	PlacementEvents *bool `json:"placementEvents,omitempty"`
	// DecisionLog logs every placement with its alternatives; false by default.
	DecisionLog *bool `json:"decisionLog,omitempty"`
}
