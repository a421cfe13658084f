package service_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// A demand is kept below its highest slowdown, and not above it: as Beside says.
func TestMostIsWhereBesideSaysSo(t *testing.T) {
	s := exponential(1e4)
	for _, d := range []service.Demand{
		{Load: 5000, MaxP99: 2 * time.Millisecond},
		{Load: 5000, MaxP99: time.Second}, // saturation comes first
		{Load: 200, MaxP99: 3 * time.Millisecond},
		{Load: 5000},
	} {
		most, err := d.Most(s)
		if err != nil || !(most > 1) {
			t.Fatalf("%+v: %v, %v", d, most, err)
		}
		for _, by := range []float64{0.2, 0.9, 0.999, 1.001, 1.3} {
			at := 1 + (float64(most)-1)*by
			a, err := service.Beside(s, d.Load, constant(at))
			if err != nil {
				t.Fatal(err)
			}
			kept := a.P99BesideSeconds != nil && (d.MaxP99 == 0 || *a.P99BesideSeconds <= d.MaxP99.Seconds())
			if kept != (by < 1) {
				t.Errorf("%+v: at slowdown %v of at most %v kept %t: p99 %v", d, at, most, kept, a.P99BesideSeconds)
			}
		}
	}
}

func TestMostOfWhatCannotBeKept(t *testing.T) {
	s := exponential(1e4)
	for _, test := range []struct {
		service.Demand

		want units.Slowdown
	}{
		{service.Demand{Load: 5000, MaxP99: 100 * time.Microsecond}, 0.2}, // 0.92 ms alone
		{service.Demand{Load: 2e4, MaxP99: time.Second}, 0.5},
		{service.Demand{Load: 2e4}, 0.5},
	} {
		if most, err := test.Most(s); err != nil || !(most > 0 && most < test.want) {
			t.Errorf("%+v: %v, %v: want below %v", test.Demand, most, err, test.want)
		}
	}
	for _, d := range []service.Demand{{Load: 5e-310}, {Load: 5e-310, MaxP99: time.Hour}} {
		if most, err := d.Most(s); err != nil || !(most > 9e5 && most < 1.1e6) {
			t.Errorf("%+v: %v, %v: want 1e6", d, float64(most), err)
		}
	}
	closed := &v1alpha1.Service{SaturationRequestsPerSecond: 1e4}
	most, err := service.Demand{Load: 5000, MaxP99: time.Millisecond}.Most(closed)
	if !errors.Is(err, service.ErrNoSweep) || math.Abs(float64(most)-1.98) > 1e-9 {
		t.Errorf("without latencies: %v, %v", most, err)
	}
}

// The p99 of a stalling server may fall where the load grows: the demand is kept at every
// slowdown below the highest.
func TestMostOfAnUnevenSweep(t *testing.T) {
	s := exponential(1e4)
	s.Loads = []v1alpha1.ServiceLoad{
		{RequestsPerSecond: 1000, P99Seconds: 0.001},
		{RequestsPerSecond: 3000, P99Seconds: 0.004},
		{RequestsPerSecond: 5000, P99Seconds: 0.0015},
		{RequestsPerSecond: 9000, P99Seconds: 0.02},
	}
	d := service.Demand{Load: 1000, MaxP99: 9 * time.Millisecond}
	most, err := d.Most(s)
	if err != nil || !(most > 2 && most < 3) {
		t.Errorf("%v, %v: want where p99 first exceeds it", most, err)
	}
}

func TestParseDemands(t *testing.T) {
	names := []string{"redis", "web", "redis"}
	loads, err := service.ParseLoads([]string{"20000", "web=5e3"}, names)
	if err != nil || loads[0] != 20000 || loads[1] != 5000 || loads[2] != 0 {
		t.Errorf("%v %v", loads, err)
	}
	if loads, err = service.ParseLoads([]string{"redis=7"}, names); err != nil || loads[0] != 7 || loads[2] != 7 {
		t.Errorf("%v %v", loads, err)
	}
	for _, texts := range [][]string{{"5", "redis=7"}, {"redis=7", "5"}} {
		if loads, err = service.ParseLoads(texts, names); err != nil || loads[0] != 5 || loads[2] != 7 {
			t.Errorf("%q: %v %v", texts, loads, err)
		}
	}
	for _, texts := range [][]string{{"5", "6"}, {"web=5", "web=6"}} {
		if _, err := service.ParseLoads(texts, names); err == nil || !strings.Contains(err.Error(), "has one already") {
			t.Errorf("%q: %v", texts, err)
		}
	}
	for _, texts := range [][]string{{"5", "web=6"}, {"web=6", "5"}} {
		if _, err := service.ParseLoads(texts, names[1:]); err == nil || !strings.Contains(err.Error(), "web has two") {
			t.Errorf("%q: %v", texts, err)
		}
	}
	limits, err := service.ParseMaxP99s([]string{"2ms", "web=1s"}, names)
	if err != nil || limits[0] != 2*time.Millisecond || limits[1] != time.Second {
		t.Errorf("%v %v", limits, err)
	}
	for text, want := range map[string]string{"0": "want requests", "-1": "want requests", "NaN": "want requests", "9e-7": "want requests", "2e9": "want requests", "x=": "want requests", "wep=5": "did you mean web?"} {
		if _, err := service.ParseLoads([]string{text}, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "0s", "-1ms", "5", "web=fast"} {
		if _, err := service.ParseMaxP99s([]string{text}, names); err == nil {
			t.Errorf("%q is a limit", text)
		}
	}
	if _, err := service.Demands(names, []float64{0, 5, 0}, []time.Duration{1, 1, 0}); err == nil || !strings.Contains(err.Error(), "the load of redis") {
		t.Error(err)
	}
}
