package predictor_test

import (
	"math"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
)

// communicator reads 10 GB/s, keeps 0.8 beside 20 GB/s, and communicates.
func communicator(t *testing.T, name string, c *v1alpha1.Communication, network bool) *predictor.Application {
	t.Helper()
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: 10e9, Source: "imc"}
	p.Spec.Communication = c
	curve := v1alpha1.SensitivityCurve{ReadShare: 1}
	for _, level := range []float64{0.25, 0.5, 0.75, 1} {
		curve.Points = append(curve.Points, v1alpha1.CurvePoint{
			Level: level, InterfererBytesPerSecond: 20e9 * level, AchievedBytesPerSecond: new(20e9 * level), NormalizedPerformance: 1 - 0.2*level, Repeats: 3,
		})
	}
	p.Spec.Curves = []v1alpha1.SensitivityCurve{curve}
	a, err := predictor.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if !network {
		return a
	}
	machine := &v1alpha1.MachineProfile{}
	machine.Name = "m"
	machine.Spec.Network = &v1alpha1.Network{Model: "gigabit-ethernet", BytesPerSecond: 1e9, Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0)}
	m, err := communication.NewMachine(machine)
	if err != nil {
		t.Fatal(err)
	}
	return a.WithMachine(m)
}

func sending(share float64, overlapped bool) *v1alpha1.Communication {
	return &v1alpha1.Communication{
		Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(share * 1e9), ReceivedBytesPerSecond: new(0.0), Overlapped: &overlapped,
	}
}

func TestPredictCommunicating(t *testing.T) {
	predict := func(method predictor.Method, target *predictor.Application, corunners ...*predictor.Application) predictor.Prediction {
		t.Helper()
		p, err := predictor.Predict(target, corunners, predictor.Options{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	silent := communicator(t, "silent", nil, true)
	waiting := communicator(t, "waiting", sending(0.5, false), true)
	for _, method := range []predictor.Method{predictor.Default, predictor.LinearEstimated} {
		memory := predict(method, silent, silent)
		p := predict(method, waiting, waiting)
		if p.Parts == nil || math.Abs(float64(p.Parts.MemorySlowdown-memory.Slowdown)) > 1e-9 {
			t.Fatalf("%s: parts %+v, by memory %v", method, p.Parts, memory.Slowdown)
		}
		if want := float64(memory.Slowdown) + 0.5*(*p.Parts.CardPenalty-1); math.Abs(float64(p.Slowdown)-want) > 1e-9 || !(*p.Parts.CardPenalty > 1.3) {
			t.Errorf("%s: slowdown %v, want %v by %+v", method, p.Slowdown, want, p.Parts)
		}
		if p.CorunnerSlowdowns["waiting"] <= memory.Slowdown || p.Interval.Low > p.Slowdown || p.Interval.High < p.Slowdown {
			t.Errorf("%s: %+v", method, p)
		}
		if got := float64(p.Slowdown) * float64(p.NormalizedPerformance); math.Abs(got-1) > 1e-9 {
			t.Errorf("%s: slowdown · performance = %v", method, got)
		}
	}
	var w predictor.Workspace
	pair := []*predictor.Application{waiting, communicator(t, "other", sending(0.9, false), true)}
	p := predict(predictor.Default, pair[0], pair[1])
	if got := w.Performances(nil, pair); got[0] != p.NormalizedPerformance || math.Abs(float64(got[1].Slowdown()-p.CorunnerSlowdowns["other"])) > 1e-12 {
		t.Errorf("%v, predicted %+v", got, p)
	}
	if got := w.MemoryPerformances(nil, pair)[0].Slowdown(); got != p.Parts.MemorySlowdown {
		t.Errorf("%v by memory, predicted %+v", got, p.Parts)
	}
	// Beside one that does not communicate it is memory, and said that nothing is
	// known of that one; and the other way around nothing changes.
	p = predict(predictor.Default, waiting, silent)
	if p.Slowdown != p.Parts.MemorySlowdown || !strings.Contains(strings.Join(p.Warnings, "\n"), "taken not to use the network") {
		t.Errorf("beside a silent one: %+v", p)
	}
	if p := predict(predictor.Default, silent, waiting); p.Parts != nil || p.Slowdown != predict(predictor.Default, silent, silent).Slowdown {
		t.Errorf("a silent one: %+v", p)
	}
	unconnected := communicator(t, "unconnected", sending(0.5, false), false)
	if p := predict(predictor.Default, unconnected, unconnected); p.Parts.CardPenalty != nil || p.Slowdown != p.Parts.MemorySlowdown ||
		!strings.Contains(strings.Join(p.Warnings, "\n"), "only the part of memory") {
		t.Errorf("without a network: %+v", p)
	}
}

// Traffic of messages is added where the profile was measured without, and only
// there.
func TestTrafficOfMessagesIsCountedOnce(t *testing.T) {
	within := communicator(t, "within", sending(1, true), true)
	c := sending(1, true)
	c.Apart = true
	apart := communicator(t, "apart", c, true)
	for _, tt := range []struct {
		of   *predictor.Application
		want float64
	}{{within, 10e9}, {apart, 11e9}} {
		traffic, known := tt.of.Contentiousness()
		if !known || float64(traffic.Total()) != tt.want {
			t.Errorf("%s: %v, want %v", tt.of.Name(), traffic.Total(), tt.want)
		}
	}
	target := communicator(t, "target", nil, true)
	slowdown := func(beside *predictor.Application) float64 {
		p, err := predictor.Predict(target, []*predictor.Application{beside}, predictor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return float64(p.Slowdown)
	}
	if !(slowdown(apart) > slowdown(within)) {
		t.Errorf("beside messages that are apart %v, within %v", slowdown(apart), slowdown(within))
	}
}

func TestCompileRefusesCommunication(t *testing.T) {
	p := &v1alpha1.ApplicationProfile{}
	p.Name = "x"
	p.Spec.Communication = &v1alpha1.Communication{SentBytesPerSecond: new(math.NaN())}
	if _, err := predictor.Compile(p); err == nil || !strings.Contains(err.Error(), "spec.communication") {
		t.Errorf("%v", err)
	}
}
