package advisor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

func TestServe(t *testing.T) {
	g := group(t, "redis", "batch")
	redis, batch := g.Entries[0], g.Entries[1]
	if e, err := g.advisor.Serve(batch, service.Demand{Load: 5}); err != nil || e.Serving != nil || e.Application != batch.Application {
		t.Errorf("an application that is no service: %+v, %v", e, err)
	}
	if e, err := g.advisor.Serve(redis, service.Demand{}); err != nil || e.Serving != nil || e.Application != redis.Application {
		t.Errorf("nothing is asked: %+v, %v", e, err)
	}
	if text := redis.Served(1); !strings.Contains(text, "taken as it was measured, at 700 requests") || batch.Served(1) != "" {
		t.Errorf("%q, %q", text, batch.Served(1))
	}
	e, err := g.advisor.Serve(redis, service.Demand{Load: 300})
	if err != nil || e.Serving == nil {
		t.Fatal(err)
	}
	v := e.Serving
	if v.At(1) != e.Application || v.At(0.5) != e.Application || v.At(1.2) != v.At(1.2001) || v.At(1.2) == e.Application {
		t.Error("the same slowdown gives another object, or another the same")
	}
	// 2 GB/s at 300 requests per second, 10 at 700, no more than at 1000.
	for slowdown, want := range map[units.Slowdown]float64{1: 2, 2: 8, 2.25: 9.5, 1000.0 / 300: 10.0 / 7 * 10, 50: 10.0 / 7 * 10} {
		traffic, _ := v.At(slowdown).Contentiousness()
		if got := float64(traffic.Read) / gb; got < want*0.99 || got > want*1.01 {
			t.Errorf("at slowdown %v it reads %v GB/s, want %v", slowdown, got, want)
		}
	}
}

func TestServeWhatCannotBeHeld(t *testing.T) {
	g := group(t, "redis", "batch")
	serve := func(d service.Demand) *Serving {
		t.Helper()
		e, err := g.advisor.Serve(g.Entries[0], d)
		if err != nil {
			t.Fatal(err)
		}
		return e.Serving
	}
	if v := serve(service.Demand{MaxP99: time.Second}); !v.Assumed || v.Load != 700 || v.Fault != nil || v.Tightest(0) != v.Most || v.Tightest(1.01) != 1.01 {
		t.Errorf("without a load: %+v", v)
	}
	if v := serve(service.Demand{Load: 2000}); v.Most != 0 || v.Tightest(1.2) != 1.2 || v.Holds(0) || v.Fault == nil || !strings.Contains(v.Fault.Error(), "even alone, 1000") {
		t.Errorf("above saturation alone: %+v", v)
	}
	v := serve(service.Demand{Load: 500, MaxP99: 10 * time.Millisecond})
	if text := v.Exceeded("redis", 1.2); !strings.HasPrefix(text, "predicted p99 13.8ms for redis at 500 requests per second, whose limit is 10ms") {
		t.Errorf("%q", text) // 1.2·4.6 ms ÷ (1 - 0.6)
	}
	if text := v.Exceeded("redis", 2.5); text != "redis would keep up with 400 requests per second at most, and its load is 500 requests per second" {
		t.Errorf("%q", text)
	}
	if _, err := v.P99(2.5); !errors.Is(err, service.ErrSaturated) {
		t.Error(err)
	}
}

// What a group answers about all services is what it answers about each as the target.
func TestPredictServices(t *testing.T) {
	names := []string{"redis", "web", "batch"}
	p, err := group(t, names...).PredictServices(t.Context(), 0, []service.Demand{{Load: 300, MaxP99: time.Nanosecond}, {Load: 500}, {}}, false)
	if err != nil || len(p.CorunnerServices) != 1 {
		t.Fatal(p, err)
	}
	_, redis, err := group(t, names...).PredictLoads(t.Context(), 0, []float64{300, 500, 0}, false)
	if err != nil || *p.Service.P99BesideSeconds != *redis.P99BesideSeconds || *p.Service.Kept || p.CorunnerServices["web"].Kept != nil {
		t.Errorf("%+v, %+v, %v", p.Service, redis, err)
	}
	_, web, err := group(t, "web", "redis", "batch").PredictLoads(t.Context(), 0, []float64{500, 300, 0}, false)
	if err != nil {
		t.Fatal(err)
	}
	if off := *p.CorunnerServices["web"].P99BesideSeconds / *web.P99BesideSeconds; off < 0.999 || off > 1.001 {
		t.Errorf("%+v, %+v", p.CorunnerServices["web"], web)
	}
	same, err := group(t, "redis", "web", "web", "web").PredictServices(t.Context(), 0, []service.Demand{{}, {Load: 500}, {Load: 500}, {Load: 500}}, false)
	if err != nil || len(same.CorunnerServices) != 1 || same.CorunnerServices["web"].P99BesideSeconds == nil {
		t.Errorf("three alike: %+v, %v", same.CorunnerServices, err)
	}
	if _, err := group(t, names...).PredictServices(t.Context(), 0, []service.Demand{{}, {}, {Load: 5}}, false); !errors.Is(err, service.ErrNoSweep) {
		t.Error(err)
	}
}
