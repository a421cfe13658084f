package advisor

import (
	"cmp"
	"errors"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// State is how much is known of an application on a machine.
type State string

const (
	// Known means a sound profile, measured on the machine.
	Known State = "known"
	// HalfKnown means a profile without curves or without contentiousness: good
	// as a neighbor only, or as a target only.
	HalfKnown State = "half-known"
	// Transferred means that the profile was measured on another machine and
	// transferred to this one, with a wider interval.
	Transferred State = "transferred"
	// Unknown means that there is no profile to predict with.
	Unknown State = "unknown"
	// Invalid means that there is a profile, but nobody should believe it.
	Invalid State = "invalid"
)

// States lists every State, the most certain first.
func States() []State { return []State{Known, HalfKnown, Transferred, Unknown, Invalid} }

// Entry is what an Advisor says of an application on a machine.
type Entry struct {
	// Application predicts; nil when State is Unknown or Invalid.
	Application *predictor.Application
	// Profile is what Application was compiled from; nil when State is Unknown.
	Profile *v1alpha1.ApplicationProfile
	State   State
	// Reason says why State is not Known; empty when it is.
	Reason string
	// Warnings say what else may be doubted, beside the profile's own.
	Warnings []string
	// Machine is where the profile was measured; empty when there is none.
	Machine string
	// Measured is when; zero when the profile does not say.
	Measured time.Time
	// Uncalibrated says why Application predicts from its curves and not by a model
	// of the memory: ErrFewProfiles, predictor.ErrNotCalibrated, or an error of
	// predictor.Calibrate. It is nil where a model does, where nobody asked for one,
	// and for an application without curves.
	Uncalibrated error

	cause error // v1alpha1.ErrNotFound or ErrAmbiguous where that is why State is Unknown
}

// Age returns how old the measurement is, never below zero: a clock that runs
// behind another makes nothing younger than new. False when it is not known.
func (e Entry) Age(now time.Time) (time.Duration, bool) {
	if e.Measured.IsZero() {
		return 0, false
	}
	return max(now.Sub(e.Measured), 0), true
}

// ErrUnusable means that there is a profile, but none to predict with: it is invalid,
// or cannot be transferred.
var ErrUnusable = errors.New("no usable profile")

// Err returns nil where Application predicts, and else the reason as an error. It
// wraps v1alpha1.ErrNotFound where a profile of the application or of a machine is
// missing, v1alpha1.ErrAmbiguous where there are several to choose from, and else
// ErrUnusable.
func (e Entry) Err() error {
	if e.Application != nil {
		return nil
	}
	return &lookupError{e.Reason, cmp.Or(e.cause, ErrUnusable)}
}

type lookupError struct {
	reason string
	cause  error
}

func (e *lookupError) Error() string { return e.reason }
func (e *lookupError) Unwrap() error { return e.cause }
