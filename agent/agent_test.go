package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"bandmate.dev/bandmate/agent"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store/cluster/clustertest"
	"bandmate.dev/bandmate/topology"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func traffic(read, write float64, after time.Duration) v1alpha1.MeasuredTraffic {
	return v1alpha1.MeasuredTraffic{ReadBytesPerSecond: read, WriteBytesPerSecond: write, Time: metav1.NewTime(noon.Add(after))}
}

func TestPaceDue(t *testing.T) {
	last := traffic(8e9, 2e9, 0)
	idle := traffic(1e6, 1e6, 0)
	tests := []struct {
		name string
		last *v1alpha1.MeasuredTraffic
		next v1alpha1.MeasuredTraffic
		want bool
	}{
		{"nothing was said yet", nil, traffic(0, 0, 0), true},
		{"a wobble", &last, traffic(8.5e9, 2.5e9, 30*time.Second), false},
		{"more reads", &last, traffic(9e9, 2e9, 30*time.Second), true},
		{"fewer writes", &last, traffic(8e9, 0.9e9, 30*time.Second), true},
		{"reads became writes", &last, traffic(7e9, 3e9, 30*time.Second), true},
		{"the same for long", &last, traffic(8e9, 2e9, time.Minute), true},
		{"the clock set back", &last, traffic(8e9, 2e9, -time.Hour), true},
		{"the clock set back a little", &last, traffic(8e9, 2e9, -30*time.Second), false},
		{"idle and idle", &idle, traffic(40e6, 40e6, 30*time.Second), false},
		{"idle no more", &idle, traffic(1e9, 0, 30*time.Second), true},
		{"hardly out of idle", &idle, traffic(100e6, 5e6, 30*time.Second), true},
		{"idle again", &last, traffic(0, 0, 30*time.Second), true},
	}
	for _, tt := range tests {
		if got := agent.DefaultPace().Due(tt.last, tt.next); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRecognize(t *testing.T) {
	profile := func(name string, cpus int) *v1alpha1.MachineProfile {
		p := &v1alpha1.MachineProfile{Spec: v1alpha1.MachineProfileSpec{CPUModel: "Test", Sockets: 1, NUMANodes: 1, CPUs: cpus}}
		p.Name, p.CreationTimestamp = name, metav1.NewTime(noon)
		return p
	}
	long := strings.Repeat("m", 64)
	older := profile("c", 2)
	older.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	machine := &topology.Machine{CPUModel: "Test", CPUs: []topology.CPU{{ID: 0}, {ID: 1}}, Nodes: []topology.Node{{ID: 0}}}
	tests := []struct {
		profiles  []*v1alpha1.MachineProfile
		name, why string
	}{
		{nil, "", "measure one with bandmate machine"},
		{[]*v1alpha1.MachineProfile{profile("big", 64)}, "", "no machine profile of the cluster is of Test"},
		{[]*v1alpha1.MachineProfile{profile("big", 64), profile("small", 2)}, "small", ""},
		{[]*v1alpha1.MachineProfile{profile("b", 2), profile("a", 2), older}, "c", "c is used because it is the oldest; choose one with --machine"},
		{[]*v1alpha1.MachineProfile{profile("node-1", 2), profile("a", 2)}, "node-1", ""},
		{[]*v1alpha1.MachineProfile{profile(long, 2)}, "", "no node can be labeled with its name: must be no more than 63"},
		{[]*v1alpha1.MachineProfile{profile(long, 2), profile("short", 2)}, "short", long + " is of such a machine"},
		{[]*v1alpha1.MachineProfile{profile(long, 64), profile("small", 2)}, "small", ""},
		{[]*v1alpha1.MachineProfile{profile("node-1", 2), profile("labeled", 2)}, "labeled", ""},
	}
	for _, tt := range tests {
		name, why := agent.Recognize(machine, tt.profiles, "labeled", "node-1")
		if name != tt.name || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%q, %q, want %q, %q", name, why, tt.name, tt.why)
		}
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// keeper is an agent of a node in an API server in memory, whose counters say
// one traffic after the other.
type keeper struct {
	*agent.Agent
	server *clustertest.Server
	log    lockedBuffer
	clock  time.Time
	says   []any // of v1alpha1.MeasuredTraffic or error
}

func newKeeper(t *testing.T, node string, change func(*agent.Options)) *keeper {
	t.Helper()
	k := &keeper{server: clustertest.New(t, clustertest.Nodes), clock: noon}
	if node != "" {
		if err := k.server.Add(clustertest.Nodes, node); err != nil {
			t.Fatal(err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", k.server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	o := agent.Options{
		Interval: time.Second, Pace: agent.DefaultPace(), Source: "imc",
		Now: func() time.Time { return k.clock }, Logger: slog.New(slog.NewTextHandler(&k.log, nil)),
		Measure: func(context.Context, time.Duration) (v1alpha1.MeasuredTraffic, error) {
			said := k.says[0]
			k.says = k.says[1:]
			if err, ok := said.(error); ok {
				return v1alpha1.MeasuredTraffic{}, err
			}
			return said.(v1alpha1.MeasuredTraffic), nil
		},
	}
	change(&o)
	k.Agent = agent.New(agent.NewNode(client, "n"), o)
	return k
}

func (k *keeper) metadata(field, key string) any {
	meta, _ := k.server.Object(clustertest.Nodes, "n")["metadata"].(map[string]any)
	values, _ := meta[field].(map[string]any)
	return values[key]
}

func (k *keeper) get(t *testing.T, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	k.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

const plainNode = `{apiVersion: v1, kind: Node, metadata: {name: "n", labels: {zone: a, bandmate.dev/machine: old}, annotations: {mine: x}}}`

func TestAgentPublishes(t *testing.T) {
	k := newKeeper(t, plainNode, func(o *agent.Options) { o.Machine, o.MemoryDomain = "rack7", "pool-a" })
	if code, _ := k.get(t, "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("ready before anything happened: %d", code)
	}
	k.says = []any{
		traffic(8e9, 2e9, 0), traffic(8.1e9, 2e9, time.Second),
		errors.New("the counters are gone"), traffic(1e9, 2e9, 2*time.Second),
		// What has moved is measured once more, in full.
		traffic(1.1e9, 2e9, 3*time.Second), traffic(1e9, 2e9, 4*time.Second),
	}
	last := traffic(1.1e9, 2e9, 3*time.Second)
	last.Start = metav1.NewTime(noon.Add(1900 * time.Millisecond))
	k.says[4] = last
	want := []string{
		`{"readBytesPerSecond":8000000000,"writeBytesPerSecond":2000000000,"time":"2026-11-20T12:00:00Z"}`,
		`{"readBytesPerSecond":8000000000,"writeBytesPerSecond":2000000000,"time":"2026-11-20T12:00:00Z"}`,
		`{"readBytesPerSecond":8000000000,"writeBytesPerSecond":2000000000,"time":"2026-11-20T12:00:00Z"}`,
		`{"readBytesPerSecond":1000000000,"writeBytesPerSecond":2000000000,"time":"2026-11-20T12:00:02Z"}`,
		`{"readBytesPerSecond":1100000000,"writeBytesPerSecond":2000000000,"start":"2026-11-20T12:00:01Z","time":"2026-11-20T12:00:03Z"}`,
		`{"readBytesPerSecond":1100000000,"writeBytesPerSecond":2000000000,"start":"2026-11-20T12:00:01Z","time":"2026-11-20T12:00:03Z"}`,
	}
	for i, w := range want {
		if err := k.Once(t.Context()); (err != nil) != (i == 2) {
			t.Fatal(i, err)
		}
		if got := k.metadata("annotations", v1alpha1.MeasuredTrafficAnnotation); got != w {
			t.Errorf("step %d: the node says %v, want %v", i, got, w)
		}
		if _, err := v1alpha1.ParseMeasuredTraffic(w); err != nil {
			t.Error(err)
		}
	}
	for field, values := range map[string]map[string]string{
		"labels":      {"zone": "a", v1alpha1.MachineLabel: "rack7", v1alpha1.MemoryDomainLabel: "pool-a"},
		"annotations": {"mine": "x"},
	} {
		for key, want := range values {
			if got := k.metadata(field, key); got != want {
				t.Errorf("%s %s: %v, want %s", field, key, got, want)
			}
		}
	}
	code, text := k.get(t, "/metrics")
	for _, line := range []string{
		`bandmate_agent_memory_traffic_bytes_per_second{direction="read"} 1e+09`,
		`bandmate_agent_measurements_total{result="measured"} 5`,
		`bandmate_agent_measurements_total{result="failed"} 1`,
		`bandmate_agent_publications_total{result="held-back"} 2`,
		`bandmate_agent_publications_total{result="published"} 3`,
		`bandmate_agent_source_info{source="imc"} 1`,
		`bandmate_agent_machine_info{machine="rack7",memory_domain="pool-a"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%d, metrics lack %s:\n%s", code, line, text)
		}
	}
	if code, _ := k.get(t, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %d", code)
	}
}

// Without counters the node says nothing, not even what it said before.
func TestAgentWithoutCounters(t *testing.T) {
	k := newKeeper(t, `{apiVersion: v1, kind: Node, metadata: {name: "n", labels: {bandmate.dev/machine: kept}, annotations: {bandmate.dev/measured-traffic: "{}"}}}`,
		func(o *agent.Options) { o.Measure, o.Source = nil, agent.NoSource })
	if err := k.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := k.metadata("annotations", v1alpha1.MeasuredTrafficAnnotation); got != nil {
		t.Errorf("the node still says %v", got)
	}
	if got := k.metadata("labels", v1alpha1.MachineLabel); got != "kept" {
		t.Errorf("machine %v", got)
	}
	if _, text := k.get(t, "/metrics"); strings.Contains(text, "memory_traffic_bytes_per_second{") || !strings.Contains(text, `source_info{source="none"} 1`) {
		t.Errorf("metrics:\n%s", text)
	}
}

// The profile of the machine arrives after the agent has started; until then the agent
// asks again, and measures.
func TestAgentRecognizesLater(t *testing.T) {
	asked := 0
	k := newKeeper(t, `{apiVersion: v1, kind: Node, metadata: {name: "n"}}`, func(o *agent.Options) {
		o.Retry = time.Minute
		o.Recognize = func(context.Context, string) (name, why string, err error) {
			switch asked++; asked {
			case 1:
				return "", "", errors.New("the API server is away")
			case 2:
				return "", "no machine profile", nil
			}
			return "rack7", "", nil
		}
	})
	for i, want := range []any{nil, nil, nil, "rack7", "rack7"} {
		k.clock = noon.Add(time.Duration(i) * 35 * time.Second)
		k.says = []any{traffic(1e9, 0, time.Duration(i)*time.Minute)}
		if err := k.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := k.metadata("labels", v1alpha1.MachineLabel); i < 2 && got != nil || i == 4 && got != want {
			t.Errorf("after %v: machine %v, want %v", k.clock.Sub(noon), got, want)
		}
		if len(k.says) > 0 {
			t.Error("it does not measure")
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times in 140 s, want 3: once in a minute until it is known", asked)
	}
	for _, want := range []string{"the API server is away", "no machine profile"} {
		if !strings.Contains(k.log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

// The node says which CPUs pods have for themselves as long as that is known.
func TestAgentPublishesExclusiveCPUs(t *testing.T) {
	var says map[string]string
	var fails error
	k := newKeeper(t, plainNode, func(o *agent.Options) {
		o.Measure, o.Source = nil, agent.NoSource
		o.ExclusiveCPUs = func() (map[string]string, error) { return says, fails }
	})
	for i, step := range []struct {
		says  map[string]string
		fails error
		want  any
	}{
		{nil, nil, nil},
		{map[string]string{"b": "2-3", "a": "5"}, nil, `{"a":"5","b":"2-3"}`},
		{map[string]string{"b": "2-3"}, nil, `{"b":"2-3"}`},
		{nil, errors.New("no such file"), nil},
		{map[string]string{"b": "2-3"}, nil, `{"b":"2-3"}`},
		{map[string]string{"b": strings.Repeat("1,", v1alpha1.MaxExclusiveCPUsBytes)}, nil, nil},
		{map[string]string{"b": "2-3"}, nil, `{"b":"2-3"}`},
		{map[string]string{}, nil, nil},
	} {
		says, fails = step.says, step.fails
		if err := k.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := k.metadata("annotations", v1alpha1.ExclusiveCPUsAnnotation); got != step.want {
			t.Errorf("step %d: the node says %v, want %v", i, got, step.want)
		}
	}
	for _, want := range []string{"cannot be read: no such file", "do not fit"} {
		if !strings.Contains(k.log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestAgentFailures(t *testing.T) {
	missing := newKeeper(t, "", func(*agent.Options) {})
	if err := missing.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "--node") {
		t.Errorf("a node that is none: %v", err)
	}
	forbidden := newKeeper(t, plainNode, func(o *agent.Options) { o.Machine = "rack7" })
	forbidden.server.Refuse(http.MethodPatch, clustertest.Nodes, metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"})
	if err := forbidden.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "cluster role") {
		t.Errorf("forbidden: %v", err)
	}
}

// The loop goes on after a failure and ends with its context; the clock says
// whether it hangs.
func TestAgentRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	k := newKeeper(t, plainNode, func(o *agent.Options) {
		o.Interval = time.Millisecond
		measure := o.Measure
		o.Measure = func(ctx context.Context, d time.Duration) (v1alpha1.MeasuredTraffic, error) {
			defer cancel()
			return measure(ctx, d)
		}
	})
	defer cancel()
	k.says = []any{traffic(1e9, 0, 0)}
	k.server.Refuse(http.MethodGet, clustertest.Nodes, metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError, Message: "ill"})
	go func() {
		for ctx.Err() == nil && !strings.Contains(k.log.String(), "will try again") {
			time.Sleep(time.Millisecond)
		}
		k.server.Accept(http.MethodGet, clustertest.Nodes)
	}()
	if err := k.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(k.says) > 0 {
		t.Error("it did not measure after the failure")
	}
	if err := k.Alive(); err != nil {
		t.Error(err)
	}
	k.clock = noon.Add(time.Hour)
	if code, text := k.get(t, "/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "inactive for 1h0m0s") {
		t.Errorf("%d %s", code, text)
	}
}

// Of several machine profiles that match, the agent takes the one that its node is labeled
// with, also when somebody changes the label later, and none that was deleted.
func TestLabelChosenByTheOperator(t *testing.T) {
	profile := func(name string) *v1alpha1.MachineProfile {
		p := &v1alpha1.MachineProfile{Spec: v1alpha1.MachineProfileSpec{CPUModel: "Test", Sockets: 1, NUMANodes: 1, CPUs: 2}}
		p.Name = name
		return p
	}
	known := []*v1alpha1.MachineProfile{profile("a"), profile("b")}
	machine := &topology.Machine{CPUModel: "Test", CPUs: []topology.CPU{{ID: 0}, {ID: 1}}, Nodes: []topology.Node{{ID: 0}}}
	k := newKeeper(t, `{apiVersion: v1, kind: Node, metadata: {name: "n"}}`, func(o *agent.Options) {
		o.Measure, o.Source, o.Retry = nil, agent.NoSource, time.Minute
		o.Recognize = func(_ context.Context, label string) (name, why string, err error) {
			name, why = agent.Recognize(machine, known, label, "n")
			return name, why, nil
		}
	})
	step := func() any {
		k.clock = k.clock.Add(11 * time.Minute)
		if err := k.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		return k.metadata("labels", v1alpha1.MachineLabel)
	}
	if got := step(); got != "a" {
		t.Fatalf("the node is labeled %v", got)
	}
	_ = k.server.Add(clustertest.Nodes, `{apiVersion: v1, kind: Node, metadata: {name: "n", labels: {bandmate.dev/machine: b}}}`)
	if got := k.metadata("labels", v1alpha1.MachineLabel); got != "b" {
		t.Fatalf("the label was set to b, and is %v", got)
	}
	if got := step(); got != "b" {
		t.Errorf("the operator labeled the node b, the agent made it %v", got)
	}
	// a is deleted, b is the only profile left
	known = known[1:]
	if got := step(); got != "b" {
		t.Errorf("of profile b alone: the node is labeled %v", got)
	}
}
