package schedplugin

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/service"
)

// serviceProfile is a service on a blade that saturates at 1000 requests per second, a
// queue of M/M/1. It loses twice as much at 700 of them as at 300.
func serviceProfile(name string) *v1alpha1.ApplicationProfile {
	p, low := measured(4)[3], measured(2)[1]
	p.Name = name
	p.Spec.Service = &v1alpha1.Service{SaturationRequestsPerSecond: 1000, Factors: []v1alpha1.ServiceFactors{
		{RequestsPerSecond: 300, ReadBytesPerSecond: 3e9, Curves: low.Spec.Curves},
		{RequestsPerSecond: 700, ReadBytesPerSecond: 8e9, Curves: p.Spec.Curves},
	}}
	for _, load := range []float64{100, 300, 500, 700, 900} {
		p99 := 4.6 / (1000 - load)
		p.Spec.Service.Loads = append(p.Spec.Service.Loads, v1alpha1.ServiceLoad{
			RequestsPerSecond: load, P50Seconds: p99 / 7, P90Seconds: p99 / 2, P99Seconds: p99, P999Seconds: 2 * p99, Requests: 9000,
		})
	}
	return p
}

// servicesAdvisor knows the services redis and web, an application that presses hard, and
// n others. Without others there is no model of the memory, because it is not known what
// the interferer achieved beside the one that presses hard.
func servicesAdvisor(n int) *advisor.Advisor {
	loud := measured(1)[0]
	loud.Name, loud.Spec.Contentiousness.ReadBytesPerSecond = "loud", 16e9
	if n == 0 {
		for i := range loud.Spec.Curves {
			for j := range loud.Spec.Curves[i].Points {
				loud.Spec.Curves[i].Points[j].AchievedBytesPerSecond = nil
			}
		}
	}
	return advisor.New(append(measured(n), serviceProfile("redis"), serviceProfile("web"), loud), nil)
}

// demanding returns a pod with a demand as it is written; empty for none.
func demanding(name, application, load, maxP99 string) *v1.Pod {
	p := pod(name, application, 1, "")
	if load != "" {
		p.Annotations[v1alpha1.LoadAnnotation] = load
	}
	if maxP99 != "" {
		p.Annotations[v1alpha1.MaxP99Annotation] = maxP99
	}
	return p
}

// predictLoads answers as `bandmate predict --load` does.
func predictLoads(t *testing.T, a *advisor.Advisor, names []string, loads ...float64) (predictor.Prediction, *service.Answer) {
	t.Helper()
	entries, err := a.Choose(names, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := a.Group(t.Context(), entries, predictor.Default)
	if err != nil {
		t.Fatal(err)
	}
	p, answer, err := g.PredictLoads(t.Context(), 0, loads, false)
	if err != nil {
		t.Fatal(err)
	}
	return p, answer
}

// within is a share of p99 that no rounding reaches: predictions settle to less.
const within = 0.005

// The p99 at which the plugin refuses a node is the one that predict names, by curves and
// by a model of the memory, of a newcomer and of a resident, beside one and beside many.
func TestServicesKeepTheP99ThatPredictNames(t *testing.T) {
	for others, model := range map[int]bool{0: false, 5: true} {
		a := servicesAdvisor(others)
		for name, test := range map[string]struct {
			resident bool // whether the service is there already
			beside   []string
			loads    []float64 // the service's first
		}{
			"a newcomer":               {false, []string{"loud"}, []float64{600, 0}},
			"a resident":               {true, []string{"loud"}, []float64{600, 0}},
			"a newcomer at little":     {false, []string{"loud"}, []float64{50, 0}},
			"two services":             {false, []string{"web"}, []float64{500, 650}},
			"two services and a job":   {true, []string{"loud", "web"}, []float64{450, 0, 600}},
			"a service without a load": {false, []string{"web"}, []float64{500, 0}},
		} {
			t.Run(fmt.Sprintf("%s, model %t", name, model), func(t *testing.T) {
				p, want := predictLoads(t, a, append([]string{"redis"}, test.beside...), test.loads...)
				if (p.Basis == predictor.MemoryModel) != model || want.P99BesideSeconds == nil || !(p.Slowdown > 1.005) {
					t.Fatalf("%s, slowdown %v, p99 %v: tests nothing", p.Basis, p.Slowdown, want.P99BesideSeconds)
				}
				for factor, refused := range map[float64]bool{1 - within: true, 1 + within: false} {
					limit := time.Duration(*want.P99BesideSeconds * factor * float64(time.Second))
					redis := demanding("redis", "redis", fmt.Sprint(test.loads[0]), limit.String())
					var others []*v1.Pod
					for i, name := range test.beside {
						load := ""
						if test.loads[i+1] > 0 {
							load = fmt.Sprint(test.loads[i+1])
						}
						others = append(others, demanding(name, name, load, ""))
					}
					newcomer, residents := redis, others
					if test.resident {
						newcomer, residents = others[0], append(others[1:], redis)
					}
					note := place(t, a, newcomer, residents...)
					if refused != (note != "") {
						t.Errorf("p99 %v is allowed, predict says %.6g s: refused by %q", limit, *want.P99BesideSeconds, note)
					}
					of := "this pod"
					if test.resident {
						of = "/redis"
					}
					if refused && !(strings.Contains(note, "predicted p99 ") && strings.Contains(note, fmt.Sprintf(" for %s at %g requests per second, whose limit is %v", of, test.loads[0], limit))) {
						t.Errorf("%q", note)
					}
				}
			})
		}
	}
}

// place runs a pod through the plugin with one node where the others are, and returns the
// note on why it is refused; empty where it is not.
func place(t *testing.T, a *advisor.Advisor, newcomer *v1.Pod, residents ...*v1.Pod) string {
	t.Helper()
	p, h := plugin(t, a, nil)
	h.node("n", "blade").add(residents...)
	for _, r := range residents {
		p.pods.handler().OnAdd(r, false)
	}
	schedule(t, p, h, newcomer, []string{"n"}) // looks the profiles up
	p.watch.profiles().calibrate()
	h.events.notes = nil
	o := schedule(t, p, h, newcomer, []string{"n"})
	p.PostFilter(t.Context(), o.state, newcomer, nil)
	if len(o.rejected) == 0 {
		return ""
	}
	return strings.Join(h.events.notes, "\n") + o.rejected["n"]
}

// A node where a service could not keep up is refused, as predict says; a load that is too
// much even alone is nobody's fault.
func TestServicesKeepUp(t *testing.T) {
	a := servicesAdvisor(5)
	_, saturated := predictLoads(t, a, []string{"redis", "loud"}, 930, 0)
	if saturated.P99BesideSeconds != nil || saturated.P99AloneSeconds == nil {
		t.Fatalf("%+v: tests nothing", saturated)
	}
	aggressor := pod("loud", "loud", 1, "")
	for name, note := range map[string]string{
		"this pod": place(t, a, demanding("redis", "redis", "930", ""), aggressor),
		"/redis":   place(t, a, aggressor, demanding("redis", "redis", "930", "")),
	} {
		if !strings.Contains(note, name+" would keep up with ") || !strings.Contains(note, "its load is 930 requests per second") {
			t.Errorf("%s: %q", name, note)
		}
	}
	if note := place(t, a, demanding("redis", "redis", "930", "")); note != "" {
		t.Errorf("alone it keeps up, yet %q", note)
	}
	if note := place(t, a, demanding("redis", "redis", "1200", ""), aggressor); note != "" {
		t.Errorf("no node could help it, yet %q", note)
	}
	if note := place(t, a, demanding("redis", "redis", "1200", "1h")); !strings.Contains(note, "keep up with") {
		t.Errorf("above saturation there is no p99, yet %q", note)
	}
	// A load near 0 does not keep the limits of others from being checked.
	faint := demanding("faint", "redis", "0."+strings.Repeat("0", 310)+"5", "")
	if note := place(t, a, aggressor, pod("protected", "app-4", 1, "1.01"), faint); !strings.Contains(note, "/protected") {
		t.Errorf("%q", note)
	}
	// A limit that is missed alone keeps a newcomer out, and others only if they harm.
	if note := place(t, a, demanding("redis", "redis", "500", "1ms")); !strings.Contains(note, "whose limit is 1ms") {
		t.Errorf("%q", note)
	}
	if note := place(t, a, pod("idle", "nobody", 1, ""), demanding("redis", "redis", "500", "1ms")); note != "" {
		t.Errorf("a pod that harms nobody is refused by %q", note)
	}
}

// The event of a placement names the p99 that predict names, and what is assumed.
func TestServicesInTheEvent(t *testing.T) {
	a := servicesAdvisor(5)
	_, answer := predictLoads(t, a, []string{"redis", "loud"}, 600, 0)
	for _, test := range []struct{ load, maxP99, want string }{
		{"600", "", " at 600 requests per second)"},
		{"600", "1h", " at 600 requests per second)"},
		{"", "1h", "at 700 requests per second (assumed: its load is not said))"},
		{"", "", "(its load is not said: taken as it was measured, at 700 requests per second)"},
	} {
		p, h := plugin(t, a, nil)
		h.node("n", "blade").add(pod("loud", "loud", 1, ""))
		redis := demanding("redis", "redis", test.load, test.maxP99)
		schedule(t, p, h, redis, []string{"n"})
		p.watch.profiles().calibrate()
		o := schedule(t, p, h, redis, []string{"n"})
		p.Reserve(t.Context(), o.state, redis, "n")
		p.PostBind(t.Context(), o.state, redis, "n")
		next := <-p.announcer.queue
		p.explain(t.Context(), next.placed)
		note := strings.Join(h.events.notes, "\n")
		if !strings.Contains(note, test.want) {
			t.Errorf("%+v: %q", test, note)
		}
		if test.load == "" {
			continue
		}
		_, rest, _ := strings.Cut(note, "(p99 ")
		text, _, _ := strings.Cut(rest, " ")
		if p99, err := time.ParseDuration(text); err != nil || math.Abs(p99.Seconds() / *answer.P99BesideSeconds - 1) > within {
			t.Errorf("%q (%v), predict says %v s", note, err, *answer.P99BesideSeconds)
		}
	}
}

// A service presses by its load: a pod that suffers goes where the load is lower.
func TestServicesPressByTheirLoad(t *testing.T) {
	for _, others := range []int{0, 5} {
		p, h := plugin(t, servicesAdvisor(others), nil)
		for name, load := range map[string]string{"busy": "900", "idle": "20"} {
			h.node(name, "blade").add(demanding(name, "redis", load, ""))
		}
		names := []string{"busy", "idle"}
		for range 2 { // by curves, then calibrated
			if o := schedule(t, p, h, pod("batch", "loud", 1, ""), names); o.scores["idle"] <= o.scores["busy"] {
				t.Errorf("with %d others: %v", others, o.scores)
			}
			p.watch.profiles().calibrate()
		}
	}
}

// Annotations that cannot be read are told once, and so is a demand that cannot be held.
func TestServicesThatCannotBeHeld(t *testing.T) {
	p, h := plugin(t, servicesAdvisor(5), nil)
	h.node("n", "blade")
	for range 3 {
		if o := schedule(t, p, h, demanding("redis", "redis", "fast", "5"), []string{"n"}); len(o.rejected) > 0 {
			t.Errorf("%v", o.rejected)
		}
	}
	want := `redis Warning InvalidBandmateAnnotation: bandmate.dev/load "fast": want requests per second, 1e-6 to 1e9, such as 20000, bandmate.dev/max-p99 "5": want a duration above 0, such as 2ms; it is ignored`
	if len(h.events.notes) != 1 || h.events.notes[0] != want {
		t.Errorf("%q, want once %q", h.events.notes, want)
	}
	empty := &domainState{}
	if err := p.scorer().PrepareIn(&empty.load, score.Domain{}); err != nil {
		t.Fatal(err)
	}
	for application, want := range map[string]string{
		"app-0": "the profile of this pod has no load sweep", "nobody": "no profile says how this pod slows down", "redis": "this pod: its load of 1e+06 requests per second is above its saturation even alone, 1000",
	} {
		c := p.newCycle(nil, resident(demanding("p", application, "1000000", "")))
		if got := c.unverifiable(empty, c.newcomerOn("n", "blade")); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", application, got, want)
		}
	}
}

// What pods demand of services is made before a cycle asks for it, and made anew when
// profiles were calibrated, or changed.
func TestDemandsAreMadeBeforeCycles(t *testing.T) {
	made := func(s *profiles) (of, profile *profile) {
		t.Helper()
		s.served.Range(func(key, value any) bool {
			if profile != nil || key.(servingKey).Load != 300 {
				t.Errorf("made %+v, want the demand of the pod only", key)
			}
			of, profile = value.(serving).of, value.(serving).profile
			return true
		})
		if profile == nil || profile.pending || !profile.Application.Calibrated() {
			t.Fatalf("made %+v", profile)
		}
		return of, profile
	}
	s := newProfiles(servicesAdvisor(5))
	p := &pods{named: s.expect}
	for _, application := range []string{"redis", "redis", "loud", "nobody"} {
		p.handler().OnAdd(demanding("p", application, "300", "1s"), false)
	}
	s.calibrate()
	_, first := made(s)
	if s.serve("redis", "blade", service.Demand{Load: 300, MaxP99: time.Second}) != first {
		t.Error("a cycle makes it again")
	}
	if _, same := made(s.next(s.advisor)); same != first {
		t.Error("made again although nothing changed")
	}
	n := s.next(servicesAdvisor(5))
	of, changed := made(n)
	if changed == first || of.Application != n.lookup("redis", "blade").Application {
		t.Error("what is made is of profiles that changed")
	}
}

// Rejected pods are tried again when a model was fitted, and not when a pod with another
// demand comes: its cycle would have made the same.
func TestDemandsRetryNobody(t *testing.T) {
	p, _ := plugin(t, servicesAdvisor(5), nil)
	come := func(load string) { p.pods.handler().OnAdd(demanding("p", "redis", load, "1s"), false) }
	p.watch.profiles().lookup("redis", "blade") // by a cycle
	come("300")
	if !p.watch.rebuild() {
		t.Error("the profile that a cycle found was calibrated, and nobody is tried again")
	}
	for _, load := range []string{"300", "400"} {
		come(load)
		if p.watch.rebuild() {
			t.Errorf("a pod with the load %s: all are tried again", load)
		}
	}
}

// Services with demands are remembered, in bounds, and kept from one set of profiles to
// the next where they do not change.
func TestServicesAreRemembered(t *testing.T) {
	s := newProfiles(servicesAdvisor(1))
	d := service.Demand{Load: 300, MaxP99: time.Second}
	s.serve("redis", "blade", d)
	s.calibrate()
	first := s.serve("redis", "blade", d)
	if again := s.serve("redis", "blade", d); again != first || first.Serving == nil {
		t.Error("made twice")
	}
	if next := s.next(s.advisor).serve("redis", "blade", d); next != first {
		t.Error("made again for the same profiles")
	}
	if other := s.next(servicesAdvisor(1)).serve("redis", "blade", d); other == first {
		t.Error("the profile changed")
	}
	gone := s.next(advisor.New(measured(4), nil))
	gone.served.Range(func(key, _ any) bool {
		t.Errorf("%v is remembered, whose profile is gone", key)
		return true
	})
	if s.serve("app-0", "blade", d) != s.lookup("app-0", "blade") {
		t.Error("an application that is no service has a demand")
	}
	for i := range mostServed + 9 {
		s.serve("redis", "blade", service.Demand{Load: float64(i + 1)})
	}
	n := 0
	s.served.Range(func(any, any) bool { n++; return true })
	if n > mostServed {
		t.Errorf("%d are remembered, want at most %d", n, mostServed)
	}
}

// A running service that misses its p99 is told once.
func TestServicesAreAudited(t *testing.T) {
	a := servicesAdvisor(5)
	_, answer := predictLoads(t, a, []string{"redis", "loud"}, 600, 0)
	p, h := plugin(t, a, nil)
	limit := time.Duration((*answer.P99AloneSeconds + *answer.P99BesideSeconds) / 2 * float64(time.Second))
	redis, loud := demanding("redis", "redis", "600", limit.String()), pod("loud", "loud", 1, "")
	redis.Spec.NodeName = "n"
	node := h.node("n", "blade").node
	pods := []*v1.Pod{redis, loud}
	audits := &auditor{
		plugin: p, last: map[types.UID]verdict{},
		nodes: func() ([]*v1.Node, error) { return []*v1.Node{node}, nil },
		pods:  func() ([]*v1.Pod, error) { return pods, nil },
	}
	for _, step := range []struct {
		on   string
		want verdict
		told int
	}{{"", "", 0}, {"n", verdictExceeded, 1}, {"n", verdictExceeded, 1}, {"", "", 1}} {
		loud.Spec.NodeName = step.on
		if err := audits.audit(); err != nil {
			t.Fatal(err)
		}
		if audits.last[redis.UID] != step.want || len(h.events.notes) != step.told {
			t.Errorf("loud on %q: %q, events %q", step.on, audits.last[redis.UID], h.events.notes)
		}
	}
	want := fmt.Sprintf("for this pod at 600 requests per second, whose limit is %v", limit)
	if !strings.Contains(h.events.notes[0], "redis Warning SlowdownLimitExceeded: with the pods that are on n now: predicted p99 ") || !strings.HasSuffix(h.events.notes[0], want) {
		t.Errorf("%q", h.events.notes)
	}
}
