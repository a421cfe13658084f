package main

import (
	"context"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/units"
)

// program is an application of the evaluation.
type program struct {
	name string
	args []string
	// exchanges are nil for programs that do not communicate.
	exchanges *exchange
}

const (
	messageBytes = 8 << 20
	// apartName is the profile of waiting, apart from its communication.
	apartName = "waiting-apart"
)

// programs are those that compute, and those that communicate: all the time; as
// long as they compute, waiting; and for three fifths of that time, without
// waiting.
func programs(far string) []program {
	var all []program
	for _, name := range []string{"triad", "stencil", "pointer-chase", "radix-sort", "floating-point"} {
		all = append(all, program{name: name, args: []string{partSample, name}})
	}
	// What waiting computes, for a profile of it that is measured apart from its
	// communication: a message is a byte.
	silent := exchange{namespace: far, steps: 9, message: 1, compute: 350e6}
	all = append(all, program{name: apartName, args: silent.args()})
	for _, sending := range []struct {
		name string
		exchange
	}{
		{"send", exchange{steps: 16, message: messageBytes}},
		{"waiting", exchange{steps: 9, message: messageBytes, compute: 350e6}},
		{"overlapped", exchange{steps: 12, message: messageBytes * 3 / 5, compute: 420e6, overlapped: true}},
	} {
		x := sending.exchange
		x.namespace = far
		all = append(all, program{name: sending.name, args: x.args(), exchanges: &x})
	}
	return all
}

// runs says which pairs are of interest: those in which somebody communicates.
func runs(all []program) func(target, corunner string) bool {
	communicates := map[string]bool{}
	for _, p := range all {
		communicates[p.name] = p.exchanges != nil
	}
	return func(target, corunner string) bool {
		return (communicates[target] || communicates[corunner]) && target != apartName && corunner != apartName
	}
}

func (p program) application() onboard.Application {
	return onboard.Application{Name: p.name, Command: launch.Command{Args: append([]string{"/proc/self/exe"}, p.args...), Timeout: time.Minute}}
}

func measurement(all []program, rate units.Bandwidth) study.Measurement {
	m := study.Measurement{
		Machine: "pair", Pairs: runs(all),
		Pressures: pressure.Grid([]units.ReadShare{0.5, 1}, []float64{0.25, 0.5, 0.75, 1}, interferer.Sequential),
	}
	for _, p := range all {
		m.Applications = append(m.Applications, p.application())
	}
	m.Then = func(ctx context.Context, session *bench.Session, v *onboard.Verified) error {
		// A limiter that one communication fills shares what there is.
		v.Machine.Spec.Network = &v1alpha1.Network{
			Model: "gigabit-ethernet", BytesPerSecond: float64(rate), Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0),
		}
		return measureCommunication(ctx, session, v.Profiles, all)
	}
	return m
}

// measureCommunication adds to the profiles what the programs exchange. The
// profile that was measured apart gets the communication of the whole
// application, as its user would declare it.
func measureCommunication(ctx context.Context, session *bench.Session, profiles []*v1alpha1.ApplicationProfile, all []program) error {
	var apart *v1alpha1.ApplicationProfile
	for i, p := range all {
		profile := profiles[i]
		if p.name == apartName {
			apart = profile
		}
		if p.exchanges == nil {
			continue
		}
		exchanged, err := onboard.MeasureCommunication(ctx, session, p.application(), nil)
		if err != nil {
			return err
		}
		measured := exchanged.Communication(profile.Spec.Solo)
		measured.MessageBytes, measured.Overlapped = new(int64(p.exchanges.message)), new(p.exchanges.overlapped)
		profile.Spec.Communication = measured
		if p.name == "waiting" {
			declared := measured.DeepCopy()
			declared.Source, declared.Apart, declared.Repeats, declared.RelativeSpread = v1alpha1.CommunicationDeclared, true, 0, nil
			apart.Spec.Communication = declared
		}
	}
	return nil
}
