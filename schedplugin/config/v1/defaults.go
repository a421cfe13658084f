package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
)

// Defaults of the arguments.
const (
	DefaultAssumedReadShare      = 0.75
	DefaultMeasuredTrafficMaxAge = 2 * time.Minute
	DefaultExactDomains          = 4
)

// SetDefaults fills in what is left out.
func SetDefaults(a *BandmateArgs) {
	setDefault(&a.Objective, string(score.AddedCost))
	setDefault(&a.UnknownApplications, string(score.Ignore))
	setDefault(&a.UnlabeledPods, string(config.UnlabeledIgnored))
	setDefault(&a.InvalidAnnotations, string(config.InvalidIgnored))
	setDefault(&a.UnverifiableLimits, string(config.UnverifiableIgnored))
	setPointer(&a.ProtectLimits, false)
	setPointer(&a.AssumedBytesPerSecond, 0)
	setPointer(&a.AssumedReadShare, DefaultAssumedReadShare)
	setPointer(&a.MeasuredTrafficMaxAge, metav1.Duration{Duration: DefaultMeasuredTrafficMaxAge})
	setPointer(&a.ExactDomains, DefaultExactDomains)
	setPointer(&a.PlacementEvents, true)
	setPointer(&a.DecisionLog, false)
}

func setDefault(value *string, to string) {
	if *value == "" {
		*value = to
	}
}

func setPointer[T any](value **T, to T) {
	if *value == nil {
		*value = &to
	}
}
