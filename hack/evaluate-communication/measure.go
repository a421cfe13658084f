package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/profiler"
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
func programs(l *link) []program {
	var all []program
	for _, name := range []string{"triad", "stencil", "pointer-chase", "radix-sort", "floating-point"} {
		all = append(all, program{name: name, args: []string{partSample, name}})
	}
	// What waiting computes, for a profile of it that is measured apart from its
	// communication: a message is a byte.
	silent := exchange{namespace: l.namespace, steps: 9, message: 1, compute: 350e6}
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
		x.namespace = l.namespace
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

// evaluation is what was measured.
type evaluation struct {
	verified *onboard.Verified
}

func measure(ctx context.Context, o options, l *link) (e *evaluation, err error) {
	all := programs(l)
	session, err := onboard.Open(ctx, onboard.Placing{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	experiment := &onboard.Experiment{Session: session, Version: "evaluate-communication"}
	for _, p := range all {
		experiment.Applications = append(experiment.Applications, onboard.Application{
			Name: p.name, Command: onboard.Command{Args: append([]string{"/proc/self/exe"}, p.args...), Timeout: time.Minute},
		})
	}
	journal, samples, err := openJournal(o.journal)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	v := &onboard.Verification{
		Experiment: experiment, Pairs: runs(all), Keep: journal.Keep, Restored: samples,
		Wanted: onboard.Grid([]units.ReadShare{0.5, 1}, onboard.DefaultLevels, interferer.Sequential),
		Machine: onboard.MachineOptions{
			Name: "pair", ReadShares: []units.ReadShare{0.5, 0.75, 1}, ProbeGrid: probeGrid(), Reporter: reporter{},
			Precision: onboard.Precision{MinRepeats: o.repeats, MaxRepeats: o.repeats}, Version: "evaluate-communication",
		},
	}
	e = &evaluation{}
	if e.verified, err = v.Run(ctx); err != nil {
		return nil, err
	}
	return e, e.communication(ctx, session, all, o)
}

func probeGrid() []onboard.Pressure {
	var grid []onboard.Pressure
	for _, p := range profiler.CalibrationGrid(true) {
		grid = append(grid, onboard.Pressure{ReadShare: units.ReadShare(p.ReadShare), Level: p.Level, Pattern: interferer.Sequential})
	}
	return grid
}

// openJournal goes on with the samples that are there.
func openJournal(path string) (*onboard.Journal, []onboard.Sample, error) {
	const fingerprint = "evaluate-communication 1"
	journal, samples, err := onboard.ResumeJournal(path, fingerprint)
	if errors.Is(err, fs.ErrNotExist) {
		journal, err = onboard.CreateJournal(path, fingerprint)
	}
	return journal, samples, err
}

// communication adds to the profiles what the programs exchange, as measured,
// and to the machine what one of them reaches alone.
func (e *evaluation) communication(ctx context.Context, session *onboard.Session, all []program, o options) error {
	for i, p := range all {
		profile := e.verified.Profiles[i]
		if p.exchanges == nil {
			continue
		}
		exchanged, err := session.MeasureCommunication(ctx, onboard.Application{
			Name: p.name, Command: onboard.Command{Args: append([]string{"/proc/self/exe"}, p.args...)},
		}, nil)
		if err != nil {
			return err
		}
		measured := exchanged.Communication(profile.Spec.Solo)
		measured.MessageBytes, measured.Overlapped = new(int64(p.exchanges.message)), new(p.exchanges.overlapped)
		profile.Spec.Communication = measured
		if p.name == "waiting" {
			e.declare(measured)
		}
	}
	// A limiter that one communication fills shares what there is.
	e.verified.Machine.Spec.Network = &v1alpha1.Network{
		Model: "gigabit-ethernet", BytesPerSecond: float64(o.rate), Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0),
	}
	return nil
}

// declare gives the profile that was measured apart the communication that the
// whole application has, as its user would declare it.
func (e *evaluation) declare(measured *v1alpha1.Communication) {
	for _, p := range e.verified.Profiles {
		if p.Name == apartName {
			declared := measured.DeepCopy()
			declared.Source, declared.Apart, declared.Repeats, declared.RelativeSpread = v1alpha1.CommunicationDeclared, true, 0, nil
			p.Spec.Communication = declared
		}
	}
}

// reporter prints progress now and then.
type reporter struct{}

func (reporter) Progress(done, total int, next string) {
	if done%20 == 0 {
		fmt.Fprintf(os.Stderr, "%s %d of %d: %s\n", time.Now().Format(time.TimeOnly), done, total, next)
	}
}
