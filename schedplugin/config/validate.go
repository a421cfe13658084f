package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"bandmate.dev/bandmate/predictor/score"
)

// MostExactDomains bounds ExactDomains: what is scored exactly costs up to half a
// millisecond each.
const MostExactDomains = 1000

// Validate returns every fault of the arguments at once, each with its path as
// in the file, below path.
func (a *BandmateArgs) Validate(path *field.Path) field.ErrorList {
	var faults field.ErrorList
	oneOf := func(name, value string, valid ...string) {
		if !slices.Contains(valid, value) {
			faults = append(faults, field.NotSupported(path.Child(name), value, valid))
		}
	}
	oneOf("objective", string(a.Objective), string(score.AddedCost), string(score.WorstSlowdown))
	oneOf("unknownApplications", string(a.UnknownApplications), string(score.Ignore), string(score.Assume), string(score.Avoid))
	oneOf("unlabeledPods", string(a.UnlabeledPods), string(UnlabeledIgnored), string(UnlabeledUnknown))
	oneOf("invalidAnnotations", string(a.InvalidAnnotations), string(InvalidIgnored), string(InvalidRejected))
	oneOf("unverifiableLimits", string(a.UnverifiableLimits), string(UnverifiableIgnored), string(UnverifiableRejected))
	if assumed := path.Child("assumedBytesPerSecond"); !a.AssumedBandwidth.Valid() {
		faults = append(faults, field.Invalid(assumed, float64(a.AssumedBandwidth), "want bytes per second, finite and 0 or more"))
	} else if a.UnknownApplications == score.Assume && a.AssumedBandwidth == 0 {
		faults = append(faults, field.Required(assumed, "unknownApplications: assume needs to know how much"))
	}
	if !a.AssumedReadShare.Valid() {
		faults = append(faults, field.Invalid(path.Child("assumedReadShare"), float64(a.AssumedReadShare), "want a share from 0 to 1"))
	}
	if a.MeasuredTrafficMaxAge.Duration <= 0 {
		faults = append(faults, field.Invalid(path.Child("measuredTrafficMaxAge"), a.MeasuredTrafficMaxAge.Duration.String(), "want a duration above 0, such as 2m"))
	}
	if a.ExactDomains < 1 || a.ExactDomains > MostExactDomains {
		faults = append(faults, field.Invalid(path.Child("exactDomains"), a.ExactDomains, "want a number from 1 to 1000"))
	}
	return faults
}
