package v1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
)

func TestDefaultsAreValid(t *testing.T) {
	got, err := Decode(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.BandmateArgs{
		Objective: score.AddedCost, UnknownApplications: score.Ignore, AssumedReadShare: 0.75,
		UnlabeledPods: config.UnlabeledIgnored, InvalidAnnotations: config.InvalidIgnored,
		UnverifiableLimits:    config.UnverifiableIgnored,
		MeasuredTrafficMaxAge: metav1.Duration{Duration: 2 * time.Minute}, ExactDomains: 4, PlacementEvents: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if faults := got.Validate(field.NewPath("args")); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestValidate(t *testing.T) {
	for text, want := range map[string]string{
		`{objective: beauty}`:                                 "args.objective: Unsupported value",
		`{unknownApplications: hope}`:                         "args.unknownApplications: Unsupported value",
		`{unlabeledPods: shout}`:                              "args.unlabeledPods: Unsupported value",
		`{invalidAnnotations: shrug}`:                         "args.invalidAnnotations: Unsupported value",
		`{unverifiableLimits: perhaps}`:                       "args.unverifiableLimits: Unsupported value",
		`{unknownApplications: assume}`:                       "args.assumedBytesPerSecond: Required value",
		`{assumedBytesPerSecond: -1}`:                         "args.assumedBytesPerSecond: Invalid value",
		`{assumedReadShare: 1.5}`:                             "args.assumedReadShare: Invalid value",
		`{measuredTrafficMaxAge: 0s}`:                         "args.measuredTrafficMaxAge: Invalid value",
		`{exactDomains: 0}`:                                   "args.exactDomains: Invalid value",
		`{exactDomains: 1001}`:                                "args.exactDomains: Invalid value",
		`{unknownApplications: assume, assumedReadShare: -1}`: "args.assumedReadShare: Invalid value",
	} {
		args, err := Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		faults := args.Validate(field.NewPath("args"))
		if all := faults.ToAggregate(); all == nil || !strings.Contains(all.Error(), want) {
			t.Errorf("%s: %v, want %q", text, all, want)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, text := range []string{`{maxSlowdown: 1}`, `{exactDomains: "4"}`, `[]`, `{objective: a, objective: b}`} {
		if got, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: %+v, want an error", text, got)
		}
	}
}

// What the scheduler does with a file: decode this version, default, convert;
// and back for --write-config-to.
func TestScheme(t *testing.T) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{config.AddToScheme, AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	bandwidth := 5e9
	written := &BandmateArgs{UnknownApplications: "assume", AssumedBytesPerSecond: &bandwidth}
	s.Default(written)
	internal, err := s.ConvertToVersion(written, schema.GroupVersion{Group: schedulerv1.GroupName, Version: runtime.APIVersionInternal})
	if err != nil {
		t.Fatal(err)
	}
	args, ok := internal.(*config.BandmateArgs)
	if !ok || args.UnknownApplications != score.Assume || args.AssumedBandwidth != 5e9 || args.ExactDomains != DefaultExactDomains {
		t.Errorf("%#v", internal)
	}
	var back BandmateArgs
	if err := s.Convert(internal, &back, nil); err != nil {
		t.Fatal(err)
	}
	back.TypeMeta, written.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	if diff := cmp.Diff(written, &back); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{unknownApplications: assume, assumedBytesPerSecond: 5e9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if args, err := Decode(text); err == nil {
			args.Validate(nil)
		}
	})
}
