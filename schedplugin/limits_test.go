package schedplugin

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
)

// value returns the sum of a metric over its labels.
func value(t *testing.T, p *Plugin, name string) (sum float64) {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	registry.MustRegister(p.metrics.all()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// A pod that limits keep pending is told of the best node and the numbers, once, and
// nothing of pods of other namespaces; the metric counts it once.
func TestRefusalIsExplained(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	names := []string{"a", "b"}
	for _, name := range names {
		h.node(name, "blade")
	}
	mine, foreign := pod("db-0", "plain", 1, "1.05"), pod("secret", "plain", 1, "1.01")
	mine.Namespace, foreign.Namespace = "shop", "bank"
	h.nodes["a"].add(mine)
	h.nodes["b"].add(foreign)
	p.pods.handler().OnAdd(mine, false)
	loud := pod("loud", "reader", 1, "")
	loud.Namespace = "shop"
	for range 3 {
		o := schedule(t, p, h, loud, names)
		if len(o.rejected) != 2 {
			t.Fatalf("%+v", o)
		}
		if _, status := p.PostFilter(t.Context(), o.state, loud, nil); status.Code() != fwk.Unschedulable {
			t.Error(status)
		}
	}
	want := "loud Warning LimitKeepsPending: limits refused 2 nodes, the best of them a: predicted 1.11× for shop/db-0, whose limit is 1.05×"
	if len(h.events.notes) != 1 || h.events.notes[0] != want {
		t.Errorf("%q, want once %q", h.events.notes, want)
	}
	if n := value(t, p, "bandmate_limit_rejections_total"); n != 1 {
		t.Errorf("%v rejections counted, want the pod once", n)
	}
	h.nodes["a"].pods = nil
	h.nodes["a"].generation++
	h.nodes["a"].add(pod("x", "plain", 1, "1.02"))
	h.events.notes = nil
	o := schedule(t, p, h, loud, []string{"b"})
	p.PostFilter(t.Context(), o.state, loud, nil)
	if len(h.events.notes) != 1 || !strings.Contains(h.events.notes[0], "a limit refused b: predicted 1.11× for a pod of another namespace, whose limit is 1.01×") {
		t.Errorf("%q", h.events.notes)
	}
}

// Limits that cannot be checked hold nobody back, or everybody, by policy.
func TestUnverifiableLimits(t *testing.T) {
	for name, test := range map[string]struct {
		newcomer, limit         string
		resident, residentLimit string
		why                     string
	}{
		"a newcomer without a profile":              {"nobody", "1.1", "", "", "no profile says how this pod slows down"},
		"a newcomer beside an unknown one":          {"plain", "1.5", "nobody", "", "the traffic of /r is not known"},
		"a resident without a profile":              {"plain", "", "nobody", "1.1", "no profile says how /r slows down"},
		"an unknown newcomer beside a limit":        {"nobody", "", "plain", "1.1", "the traffic of this pod is not known, and /r has a limit"},
		"an unknown newcomer beside nobody limited": {"nobody", "", "plain", "", ""},
		"all known": {"plain", "1.5", "plain", "1.5", ""},
	} {
		for policy, refused := range map[config.UnverifiablePolicy]bool{config.UnverifiableIgnored: false, config.UnverifiableRejected: test.why != ""} {
			p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) { a.UnverifiableLimits = policy })
			n := h.node("n", "blade")
			if test.resident != "" {
				r := pod("r", test.resident, 1, test.residentLimit)
				n.add(r)
				p.pods.handler().OnAdd(r, false)
			}
			newcomer := pod("p", test.newcomer, 1, test.limit)
			o := schedule(t, p, h, newcomer, []string{"n"})
			if len(o.rejected) > 0 != refused {
				t.Errorf("%s, %s: rejected %v, want %v", name, policy, o.rejected, refused)
			}
			p.PostFilter(t.Context(), o.state, newcomer, nil)
			if told := slices.ContainsFunc(h.events.notes, func(note string) bool { return strings.Contains(note, test.why) }); refused && !told {
				t.Errorf("%s: events %q, want %q", name, h.events.notes, test.why)
			}
		}
	}
}

// Preemption may take a pod away whose limit is in the way, or not, by policy.
func TestPreemptionAndLimits(t *testing.T) {
	for name, test := range map[string]struct {
		newcomer  *v1.Pod
		residents []*v1.Pod
		concerned bool // whether the limit of a resident is in the way
	}{
		"a resident's":                   {pod("loud", "reader", 1, ""), []*v1.Pod{pod("protected", "plain", 1, "1.05")}, true},
		"the newcomer's":                 {pod("loud", "plain", 1, "1.05"), []*v1.Pod{pod("reader", "reader", 1, "")}, false},
		"both":                           {pod("loud", "plain", 1, "1.01"), []*v1.Pod{pod("protected", "plain", 1, "1.01")}, true},
		"a resident's, unverifiable":     {pod("loud", "nobody", 1, ""), []*v1.Pod{pod("protected", "plain", 1, "1.5")}, true},
		"the newcomer's, unverifiable":   {pod("loud", "plain", 1, "1.5"), []*v1.Pod{pod("stranger", "nobody", 1, "")}, false},
		"both, unverifiable":             {pod("loud", "plain", 1, "1.5"), []*v1.Pod{pod("protected", "nobody", 1, "1.5")}, true},
		"both, one of them unverifiable": {pod("loud", "reader", 1, "1.5"), []*v1.Pod{pod("protected", "plain", 1, "1.05"), pod("stranger", "nobody", 1, "")}, true},
	} {
		for _, protect := range []bool{false, true} {
			p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) {
				a.ProtectLimits, a.UnverifiableLimits = protect, config.UnverifiableRejected
			})
			n := h.node("n", "blade")
			n.add(test.residents...)
			for _, r := range test.residents {
				p.pods.handler().OnAdd(r, false)
			}
			o := schedule(t, p, h, test.newcomer, []string{"n"})
			want := fwk.Unschedulable
			if protect && test.concerned {
				want = fwk.UnschedulableAndUnresolvable
			}
			if got := p.Filter(t.Context(), o.state, test.newcomer, n).Code(); got != want {
				t.Errorf("%s, protect %v: %v, want %v", name, protect, got, want)
			}
			without := &fakeNode{node: n.node, generation: n.generation + 1}
			if got := p.Filter(t.Context(), o.state, test.newcomer, without); got.IsSuccess() == (protect && test.concerned) {
				t.Errorf("%s, protect %v: tried without the residents: %v", name, protect, got)
			}
			bystander := pod("bystander", "plain", 0.1, "")
			o = schedule(t, p, h, bystander, []string{"n"})
			if got := p.Filter(t.Context(), o.state, bystander, without); !got.IsSuccess() && len(o.rejected) == 0 {
				t.Errorf("%s, protect %v: a pod that breaks no limit: %v", name, protect, got)
			}
		}
	}
}

// A limit that stops holding is told once, with the reason, and shows in the metric.
func TestAudit(t *testing.T) {
	all := table(t)
	trickle := all.Applications[0].DeepCopy()
	trickle.Name, trickle.Spec.Contentiousness.ReadBytesPerSecond = "trickle", 5e6
	all.Applications = append(all.Applications, trickle)
	p, h := plugin(t, all.Advisor(), nil)
	protected, stranger, loud := pod("protected", "plain", 1, "1.05"), pod("stranger", "nobody", 1, ""), pod("loud", "reader", 1, "")
	faint := pod("faint", "trickle", 1, "")
	pods := []*v1.Pod{protected}
	nodes := []*v1.Node{h.node("n", "blade").node, h.node("other", "blade").node}
	a := &auditor{
		plugin: p, last: map[types.UID]verdict{},
		nodes: func() ([]*v1.Node, error) { return nodes, nil },
		pods:  func() ([]*v1.Pod, error) { return pods, nil },
	}
	for _, step := range []struct {
		name   string
		change func()
		want   verdict
		note   string
	}{
		{"alone", func() { protected.Spec.NodeName = "n" }, verdictKept, ""},
		{"an aggressor elsewhere", func() { loud.Spec.NodeName = "other"; pods = append(pods, loud) }, verdictKept, ""},
		{"an aggressor of another scheduler", func() { loud.Spec.NodeName = "n" }, verdictExceeded, "protected Warning SlowdownLimitExceeded: predicted 1.11× with the pods that are on n now, the limit is 1.05×"},
		{"still", func() {}, verdictExceeded, ""},
		{"gone", func() { pods = pods[:1] }, verdictKept, ""},
		{"an unknown neighbor", func() { stranger.Spec.NodeName = "n"; pods = append(pods, stranger) }, verdictUnverifiable, "the traffic of a pod of another namespace is not known"},
		{"gone again", func() { pods = pods[:1] }, verdictKept, ""},
		{"what Filter forgives", func() {
			protected.Annotations[v1alpha1.MaxSlowdownAnnotation] = "1"
			faint.Spec.NodeName = "n"
			pods = append(pods, faint)
		}, verdictKept, ""},
		{"the profile deleted", func() { p.watch.current.Store(newProfiles(&advisor.Advisor{})) }, verdictUnverifiable, "cannot be checked: no profile of plain"},
	} {
		step.change()
		stranger.Namespace = "bank"
		h.events.notes = nil
		if err := a.audit(); err != nil {
			t.Fatal(err)
		}
		if told := len(h.events.notes) == 1 && strings.Contains(h.events.notes[0], step.note); told != (step.note != "") || len(h.events.notes) > 1 {
			t.Errorf("%s: events %q, want %q", step.name, h.events.notes, step.note)
		}
		if value(t, p, "bandmate_limits") != 1 || a.idle() {
			t.Errorf("%s: want one limit in the metric, and audits to go on", step.name)
		}
		if got := a.last[protected.UID]; got != step.want && !(got == "" && step.want == verdictKept) {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	// Audits rest once the metric has forgotten the last limit.
	pods = nil
	if err := a.audit(); err != nil {
		t.Fatal(err)
	}
	if n := value(t, p, "bandmate_limits"); n != 0 || !a.idle() {
		t.Errorf("%v limits without a pod, idle %v", n, a.idle())
	}
}

// A pod that is deleted while it is scheduled is forgotten by the next audit.
func TestAuditForgetsDeletedPods(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	h.node("n", "blade").add(pod("r", "reader", 1, ""))
	deleted, pending := pod("deleted", "plain", 1, "1.05"), pod("pending", "plain", 1, "1.05")
	for _, newcomer := range []*v1.Pod{deleted, pending} {
		newcomer.Annotations[v1alpha1.LoadAnnotation] = "much"
		p.pods.handler().OnAdd(newcomer, false)
		if newcomer == deleted {
			p.pods.handler().OnDelete(newcomer)
		}
		o := schedule(t, p, h, newcomer, []string{"n"})
		p.PostFilter(t.Context(), o.state, newcomer, nil)
	}
	a := &auditor{
		plugin: p, last: map[types.UID]verdict{},
		nodes: func() ([]*v1.Node, error) { return nil, nil },
		pods:  func() ([]*v1.Pod, error) { return []*v1.Pod{pending}, nil },
	}
	if err := a.audit(); err != nil {
		t.Fatal(err)
	}
	for what, of := range map[string]*sync.Map{
		"limited": &p.pods.limited.uids, "rejected": &p.pods.rejected, "counted": &p.pods.counted, "faulty": &p.pods.faulty, "told": &p.pods.told,
	} {
		n := 0
		of.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%s: %d pods are remembered, want the pending one", what, n)
		}
	}
	if n := p.pods.limited.count.Load(); n != 1 {
		t.Errorf("%d pods with a limit, want 1", n)
	}
}

// Every pod is judged by the arguments of its own scheduler, and one of a scheduler of
// another process by those of the auditor.
func TestAuditByScheduler(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	counting, own := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) {
		a.UnlabeledPods, a.UnknownApplications = config.UnlabeledUnknown, score.Assume
		a.AssumedBandwidth, a.AssumedReadShare = 20e9, 1
	})
	p.metrics.plugins.Store("plain", p)
	p.metrics.plugins.Store("counting", counting)
	var pods []*v1.Pod
	var nodes []*v1.Node
	for _, scheduler := range []string{"plain", "counting", "elsewhere"} {
		judged, unlabeled := pod("of-"+scheduler, "plain", 1, "1.02"), pod("beside-"+scheduler, "", 1, "")
		judged.Spec.SchedulerName = scheduler
		judged.Spec.NodeName, unlabeled.Spec.NodeName = scheduler, scheduler
		nodes, pods = append(nodes, h.node(scheduler, "blade").node), append(pods, judged, unlabeled)
	}
	a := &auditor{
		plugin: p, last: map[types.UID]verdict{},
		nodes: func() ([]*v1.Node, error) { return nodes, nil },
		pods:  func() ([]*v1.Pod, error) { return pods, nil },
	}
	if err := a.audit(); err != nil {
		t.Fatal(err)
	}
	if len(a.last) != 1 || a.last["uid-of-counting"] != verdictExceeded {
		t.Errorf("verdicts %v, want that of-counting exceeds its limit", a.last)
	}
	if len(h.events.notes) != 0 || len(own.events.notes) != 1 {
		t.Errorf("events %q of the auditor, %q of the scheduler; want one of the scheduler", h.events.notes, own.events.notes)
	}
}

// What is measured on one node of a memory domain says nothing of unknown pods on another.
func TestMeasurementOfAnotherNode(t *testing.T) {
	for _, measured := range []bool{false, true} {
		for name, change := range unknownCounts() {
			p, h := plugin(t, table(t).Advisor(), change)
			for _, name := range []string{"a", "b"} {
				n := h.node(name, "blade")
				n.node.Labels[v1alpha1.MemoryDomainLabel] = "pool"
				p.members.handler().OnAdd(n.node, false)
			}
			h.nodes["b"].add(pod("stranger", "nobody", 1, ""))
			if measured {
				h.nodes["a"].node.Annotations[v1alpha1.MeasuredTrafficAnnotation] = idleAtNoon
			}
			o := schedule(t, p, h, pod("protected", "plain", 1, "1.02"), []string{"a"})
			if len(o.rejected) != 1 {
				t.Errorf("%s, idle node a measured: %v: the limit keeps the pod from nowhere", name, measured)
			}
		}
	}
}

// unknownCounts returns the arguments with which unknown applications count for limits, by what
// they do.
func unknownCounts() map[string]func(*config.BandmateArgs) {
	return map[string]func(*config.BandmateArgs){
		"reject": func(a *config.BandmateArgs) { a.UnverifiableLimits = config.UnverifiableRejected },
		"assume": func(a *config.BandmateArgs) {
			a.UnknownApplications = score.Assume
			a.AssumedBandwidth, a.AssumedReadShare = 20e9, 1
		},
	}
}

// idleAtNoon is a measurement of a node without traffic.
const idleAtNoon = `{"readBytesPerSecond":0,"writeBytesPerSecond":0,"time":"2026-11-20T12:00:00Z"}`

// A measurement says nothing of an unknown pod that started after it.
func TestMeasurementBeforeAPodStarts(t *testing.T) {
	for _, test := range []struct {
		since    time.Time
		rejected bool
	}{
		{noon.Add(-time.Hour), false},
		{noon.Add(-time.Second), true},
		{noon.Add(time.Second), true},
	} {
		for name, change := range unknownCounts() {
			p, h := plugin(t, table(t).Advisor(), change)
			n := h.node("n", "blade")
			n.node.Annotations[v1alpha1.MeasuredTrafficAnnotation] = idleAtNoon
			n.add(runs(pod("stranger", "nobody", 1, ""), test.since))
			o := schedule(t, p, h, pod("protected", "plain", 1, "1.02"), []string{"n"})
			if len(o.rejected) > 0 != test.rejected {
				t.Errorf("%s, measured at noon, started at %v: rejected %v, want %v", name, test.since, o.rejected, test.rejected)
			}
		}
	}
}

// A node keeps no memory domain from before a pod on it started.
func TestStartOfAPodIsSeen(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) { a.UnverifiableLimits = config.UnverifiableRejected })
	n := h.node("n", "blade")
	n.node.Annotations[v1alpha1.MeasuredTrafficAnnotation] = idleAtNoon
	n.add(pod("stranger", "nobody", 1, ""))
	protected := pod("protected", "plain", 1, "1.02")
	if o := schedule(t, p, h, protected, []string{"n"}); len(o.rejected) != 1 {
		t.Errorf("the measurement counts for a pod that does not run yet")
	}
	n.pods = nil
	n.add(runs(pod("stranger", "nobody", 1, ""), noon.Add(-time.Hour)))
	if o := schedule(t, p, h, protected, []string{"n"}); len(o.rejected) != 0 {
		t.Errorf("%v, want the measurement to count for a pod that ran before it", o.rejected)
	}
}

// A newer measurement retries pods that were rejected because of pods that were not measured.
func TestMeasurementOfNewPodsIsTried(t *testing.T) {
	for since, want := range map[time.Time]fwk.QueueingHint{{}: fwk.Queue, noon.Add(-time.Hour): fwk.QueueSkip} {
		p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) { a.UnverifiableLimits = config.UnverifiableRejected })
		n := h.node("n", "blade")
		n.node.Annotations[v1alpha1.MeasuredTrafficAnnotation] = idleAtNoon
		stranger := pod("stranger", "nobody", 1, "")
		if !since.IsZero() {
			runs(stranger, since)
		}
		n.add(stranger)
		schedule(t, p, h, pod("protected", "plain", 1, "1.02"), []string{"n"})
		later := n.node.DeepCopy()
		later.Annotations[v1alpha1.MeasuredTrafficAnnotation] = strings.Replace(idleAtNoon, "12:00", "12:01", 1)
		if got, err := p.afterNodeUpdate(klog.Background(), nil, n.node, later); err != nil || got != want {
			t.Errorf("beside a pod that has run since %v: %v, %v; want %v", since, got, err, want)
		}
		// Nobody was refused by a measurement that was never read.
		next := later.DeepCopy()
		next.Annotations[v1alpha1.MeasuredTrafficAnnotation] = strings.Replace(idleAtNoon, "12:00", "12:02", 1)
		if got, err := p.afterNodeUpdate(klog.Background(), nil, later, next); err != nil || got != fwk.QueueSkip {
			t.Errorf("after a measurement that was not read: %v, %v; want %v", got, err, fwk.QueueSkip)
		}
	}
}

// A limit that becomes unreadable while its pod runs is reported, once.
func TestLimitThatBecomesInvalid(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	protected, loud := pod("protected", "plain", 1, "1.05"), pod("loud", "reader", 1, "")
	protected.Spec.NodeName, loud.Spec.NodeName = "n", "n"
	n := h.node("n", "blade")
	a := &auditor{
		plugin: p, last: map[types.UID]verdict{},
		nodes: func() ([]*v1.Node, error) { return []*v1.Node{n.node}, nil },
		pods:  func() ([]*v1.Pod, error) { return []*v1.Pod{protected, loud}, nil },
	}
	protected.Annotations[v1alpha1.MaxSlowdownAnnotation] = "1,05"
	for range 2 {
		if err := a.audit(); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.events.notes) != 1 || !strings.Contains(h.events.notes[0], `"1,05"`) {
		t.Errorf("%q, want one event of the limit", h.events.notes)
	}
}

// A scheduler that waits for its lease does not audit; one that needs no lease does.
func TestWhoAudits(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	if !leads(registry) {
		t.Error("without an election nobody audits")
	}
	status := metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "leader_election_master_status", Help: "as client-go has it"}, []string{"name"})
	registry.MustRegister(status)
	for _, holds := range []float64{0, 1, 0} {
		status.WithLabelValues("kube-scheduler").Set(holds)
		if leads(registry) != (holds == 1) {
			t.Errorf("with a status of %v: %v", holds, leads(registry))
		}
	}
}
