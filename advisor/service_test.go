package advisor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/service"
)

// serviceProfile is a service that saturates at 1000 requests per second: it reads 2
// GB/s at 300 of them and 10 GB/s at 700, and loses twice as much at the higher load.
func serviceProfile(name, machine string) *v1alpha1.ApplicationProfile {
	p := profile(name, machine)
	low := profile(name, machine)
	for _, c := range low.Spec.Curves {
		for i := range c.Points {
			c.Points[i].NormalizedPerformance = 1 - 0.1*c.Points[i].Level
		}
	}
	s := &v1alpha1.Service{SaturationRequestsPerSecond: 1000, Factors: []v1alpha1.ServiceFactors{
		{RequestsPerSecond: 300, ReadBytesPerSecond: 2 * gb, Curves: low.Spec.Curves},
		{RequestsPerSecond: 700, ReadBytesPerSecond: 10 * gb, Curves: p.Spec.Curves},
	}}
	for _, share := range []float64{0.1, 0.5, 0.9} {
		p99 := 0.0046 / (1 - share)
		s.Loads = append(s.Loads, v1alpha1.ServiceLoad{RequestsPerSecond: 1000 * share, P50Seconds: p99 / 7, P90Seconds: p99 / 2, P99Seconds: p99, P999Seconds: 2 * p99, Requests: 9000})
	}
	p.Spec.Service = s
	return p
}

func group(t *testing.T, names ...string) *Group {
	t.Helper()
	a := New([]*v1alpha1.ApplicationProfile{
		serviceProfile("redis", "node"), serviceProfile("web", "node"), profile("batch", "node"),
	}, []*v1alpha1.MachineProfile{machine("node", 40)})
	entries, err := a.Choose(names, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := a.Group(t.Context(), entries, predictor.Default)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Predictions end with the context, and instances of a service are compiled once.
func TestPredictServicesEnds(t *testing.T) {
	g := group(t, "redis", "web", "web")
	demands := []service.Demand{{Load: 300}, {Load: 500}, {Load: 500}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := g.PredictServices(gone, 0, demands, false); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that nobody waits", err)
	}
	if _, err := g.advisor.Group(gone, g.Entries, predictor.Default); !errors.Is(err, context.Canceled) {
		t.Errorf("a group: %v, want that nobody waits", err)
	}
	if _, err := g.Slowdowns(gone, g); !errors.Is(err, context.Canceled) {
		t.Errorf("slowdowns: %v, want that nobody waits", err)
	}
	served := servedEntries{}
	if _, err := g.settle(t.Context(), 0, []float64{300, 500, 500}, false, served); err != nil || len(served) != 2 {
		t.Errorf("%d services were made, %v", len(served), err)
	}
}

func TestServicesUnderLoad(t *testing.T) {
	predict := func(names []string, loads ...float64) (predictor.Prediction, float64, float64) {
		t.Helper()
		p, answer, err := group(t, names...).PredictLoads(t.Context(), 0, loads, false)
		if err != nil {
			t.Fatal(err)
		}
		if answer == nil {
			return p, 0, 0
		}
		if answer.P99BesideSeconds == nil {
			return p, 0, answer.SaturationBeside
		}
		return p, *answer.P99BesideSeconds / *answer.P99AloneSeconds, answer.SaturationBeside
	}
	low, stretchedLow, saturation := predict([]string{"redis", "batch"}, 300, 0)
	high, stretchedHigh, same := predict([]string{"redis", "batch"}, 700, 0)
	if !(low.Slowdown > 1.005 && high.Slowdown > low.Slowdown*1.01) {
		t.Errorf("slowdowns %v and %v: the higher load should lose more", low.Slowdown, high.Slowdown)
	}
	if !(stretchedLow > float64(low.Slowdown) && stretchedHigh > float64(high.Slowdown)) {
		t.Errorf("p99 grows by %v and %v: more than the service times, as the queue does", stretchedLow, stretchedHigh)
	}
	if !(saturation < 1000/float64(low.Slowdown) && saturation > 800) || saturation != same {
		t.Errorf("saturation %v and %v, slowdowns %v and %v", saturation, same, low.Slowdown, high.Slowdown)
	}
	// A service as a neighbor presses by its load, and a saturated one no harder than
	// its CPUs can.
	var slowdowns []float64
	for _, load := range []float64{1, 300, 700, 1000, 5000} {
		p, _, _ := predict([]string{"batch", "redis"}, 0, load)
		slowdowns = append(slowdowns, float64(p.Slowdown))
	}
	for i := 1; i < 4; i++ {
		if !(slowdowns[i] > slowdowns[i-1]*1.001) {
			t.Errorf("beside redis at growing loads batch slows down by %v", slowdowns)
		}
	}
	if slowdowns[4] > slowdowns[3]*1.02 {
		t.Errorf("a load above saturation presses on: %v", slowdowns)
	}
	// The batch job's traffic falls as it is slowed down; that of a service with the
	// same load does not, because its requests still arrive.
	closed, _, _ := predict([]string{"batch", "redis"}, 0, 0)
	open, _, _ := predict([]string{"batch", "redis"}, 0, 700)
	if !(open.Slowdown > closed.Slowdown) {
		t.Errorf("beside a service under load %v, beside the same traffic that slows down %v", open.Slowdown, closed.Slowdown)
	}
	// Groups, with two services that make each other busy.
	both, stretched, _ := predict([]string{"redis", "web", "batch"}, 500, 600, 0)
	alone, _, _ := predict([]string{"redis", "web"}, 500, 600)
	if !(both.Slowdown > alone.Slowdown && stretched > 1) {
		t.Errorf("a group slows down by %v, a pair by %v", both.Slowdown, alone.Slowdown)
	}
}

func TestLoadsThatCannotBe(t *testing.T) {
	if _, _, err := group(t, "redis", "batch").PredictLoads(t.Context(), 0, []float64{1, 1}, false); err == nil || !strings.Contains(err.Error(), "batch has no load sweep") {
		t.Error(err)
	}
	p, answer, err := group(t, "redis", "batch").PredictLoads(t.Context(), 0, []float64{0, 0}, false)
	if err != nil || answer != nil || !strings.Contains(strings.Join(p.Warnings, "\n"), "redis: its load is not said: it is taken as it was measured, at 700 requests per second") {
		t.Errorf("%v %v %v", p.Warnings, answer, err)
	}
	_, answer, err = group(t, "redis", "batch").PredictLoads(t.Context(), 0, []float64{980, 0}, false)
	if err != nil || answer.P99BesideSeconds != nil || answer.P99AloneSeconds == nil {
		t.Errorf("saturated beside the neighbor, yet %+v %v", answer, err)
	}
}

// A co-runner of unknown traffic is one fault, not one for each target.
func TestSlowdownsNameAFaultOnce(t *testing.T) {
	g := &Group{Method: predictor.Default}
	for _, p := range []*v1alpha1.ApplicationProfile{
		profile("one", "old"), profile("two", "old"),
		with(profile("silent", "old"), func(p *v1alpha1.ApplicationProfile) { p.Spec.Contentiousness = v1alpha1.Contentiousness{} }),
	} {
		application, err := predictor.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		g.Entries = append(g.Entries, Entry{Application: application, Profile: p})
	}
	_, err := g.Slowdowns(t.Context(), g)
	if !errors.Is(err, predictor.ErrNoContentiousness) || strings.Count(err.Error(), "co-runner silent") != 1 {
		t.Errorf("%v, want the co-runner once", err)
	}
}
