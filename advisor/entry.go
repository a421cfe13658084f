package advisor

import (
	"cmp"
	"errors"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// State is the state of the profile of an application on a machine.
type State string

const (
	// Known means a valid profile, measured on the machine.
	Known State = "known"
	// Transferred means that the profile was measured on another machine and
	// transferred to this one, with a wider interval.
	Transferred State = "transferred"
	// Unknown means that there is no profile to predict with.
	Unknown State = "unknown"
	// Invalid means that the profile is faulty.
	Invalid State = "invalid"
)

// States lists every State, the most certain first.
func States() []State { return []State{Known, Transferred, Unknown, Invalid} }

// Entry is the result of looking up an application on a machine.
type Entry struct {
	// Application predicts; nil when State is Unknown or Invalid.
	Application *predictor.Application
	// Profile is what Application was compiled from; nil when State is Unknown.
	Profile *v1alpha1.ApplicationProfile
	State   State
	// Reason says why State is not Known; empty when it is.
	Reason string
	// Warnings are warnings beside those of the profile.
	Warnings []string
	// Machine is where the profile was measured; empty when there is none.
	Machine string
	// Measured is when; zero when the profile does not say.
	Measured time.Time
	// Uncalibrated says why Application predicts from its curves and not by a model
	// of the memory: ErrFewProfiles, predictor.ErrNotCalibrated, or an error of
	// predictor.Calibrate. It is nil if a model is used, was not requested, or the
	// application has no curves.
	Uncalibrated error
	// Serving is the demand that Serve gave a service, for which Application is then
	// compiled; nil for all others.
	Serving *Serving

	sum   string // of Profile's content; empty where it is not known
	cause error  // v1alpha1.ErrNotFound or ErrAmbiguous where that is why State is Unknown
}

// Age returns the age of the measurement, 0 for a time in the future; false when
// unknown.
func (e Entry) Age(now time.Time) (time.Duration, bool) {
	if e.Measured.IsZero() {
		return 0, false
	}
	return max(now.Sub(e.Measured), 0), true
}

// ErrUnusable means that the profile is invalid or cannot be transferred.
var ErrUnusable = errors.New("no usable profile")

// Err returns nil if Application is not nil, else the reason as an error that wraps
// v1alpha1.ErrNotFound (no profile of the application or of a machine),
// v1alpha1.ErrAmbiguous (several to choose from) or ErrUnusable.
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
