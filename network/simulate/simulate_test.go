package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/network"
)

func decode(t testing.TB, text string) Scenario {
	t.Helper()
	s, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const head = `
cluster: {nodes: 8, coresPerNode: 2, bandwidth: 100MB/s, latency: 1ms, memoryBandwidth: 1GB/s, buffer: 1kB}
model: {name: gigabit-ethernet}
`

// Two messages of 100 MB leave node 0 at once, and so each gets 1/1.5 of the
// card; the second is joined half a second late in another case.
func TestByHand(t *testing.T) {
	tests := []struct {
		name, applications, placement string
		total                         float64
		task                          int // of which the rest is
		compute, communication        float64
		penalty                       float64
		conflicts                     Conflicts
	}{
		{
			"alone", `[{name: a, tasks: [
				{events: [{compute: 1s}, {send: {to: 1, bytes: 100MB}}]},
				{events: [{receive: {from: 0}}]}]}]`,
			"{policy: given, nodes: [0, 1]}", 2.001, 1, 0, 2.001, 0,
			Conflicts{},
		},
		{
			"two leave", `[{name: a, tasks: [
				{events: [{send: {to: 2, bytes: 100MB}}]}, {events: [{send: {to: 3, bytes: 100MB}}]},
				{events: [{receive: {}}]}, {events: [{receive: {}}]}]}]`,
			"{policy: given, nodes: [0, 0, 1, 2]}", 1.501, 0, 0, 1.501, 1.5,
			Conflicts{Outgoing: 1},
		},
		{
			// 0.5 s alone, then 50 MB at two thirds: 0.75 s; the other sends
			// 50 MB meanwhile and the rest alone: 0.5 s.
			"one is late", `[{name: a, tasks: [
				{events: [{send: {to: 2, bytes: 100MB}}]}, {events: [{compute: 500ms}, {send: {to: 3, bytes: 100MB}}]},
				{events: [{receive: {}}]}, {events: [{receive: {}}]}]}]`,
			"{policy: given, nodes: [0, 0, 1, 2]}", 1.751, 1, 0.5, 1.251, 1.25,
			Conflicts{Outgoing: 1},
		},
		{
			"through memory", `[{name: a, tasks: [
				{events: [{send: {to: 1, bytes: 1GB}}]}, {events: [{receive: {}}]}]}]`,
			"{policy: round-robin-processor}", 1, 0, 0, 1, 0,
			Conflicts{},
		},
		{
			"the buffer frees the sender", `[{name: a, tasks: [
				{events: [{send: {to: 1, bytes: 1kB}}, {compute: 2s}]}, {events: [{compute: 1s}, {receive: {}}, {compute: 3s}]}]}]`,
			"{policy: round-robin-node}", 4, 0, 2, 0, 1,
			Conflicts{},
		},
		{
			"in and out", `[{name: a, tasks: [
				{events: [{send: {to: 1, bytes: 100MB}}]}, {events: [{receive: {}}]},
				{events: [{receive: {}}]}, {events: [{send: {to: 2, bytes: 100MB}}]}]}]`,
			"{policy: given, nodes: [0, 1, 2, 1]}", 1.001, 3, 0, 1.001, 1,
			Conflicts{IncomeOutgo: 1},
		},
		{
			"rounds in order", `[{name: a, tasks: [
				{repeat: 3, events: [{send: {to: 1, bytes: 10MB}}, {receive: {from: 1}}]},
				{repeat: 3, events: [{receive: {from: 0}}, {send: {to: 0, bytes: 10MB}}]}]}]`,
			"{policy: given, nodes: [0, 1]}", 6 * 0.101, 0, 0, 6 * 0.101, 1,
			Conflicts{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.ReplaceAll(head+"placement: "+test.placement+"\napplications: "+test.applications, "\t", " ")
			r, err := run(t.Context(), decode(t, text))
			if err != nil {
				t.Fatal(err)
			}
			got := r.Tasks[test.task]
			for _, v := range []struct {
				what      string
				got, want float64
			}{
				{"total", r.TotalSeconds, test.total},
				{"compute", got.ComputeSeconds, test.compute},
				{"communication", got.CommunicationSeconds, test.communication},
				{"penalty", got.MeanPenalty, test.penalty},
			} {
				if math.Abs(v.got-v.want) > 1e-9 {
					t.Errorf("%s: %.12g, want %.12g", v.what, v.got, v.want)
				}
			}
			if got.Conflicts != test.conflicts {
				t.Errorf("conflicts %+v, want %+v", got.Conflicts, test.conflicts)
			}
		})
	}
}

// All start together and have the same size, so each ends at its penalty.
func TestFigure4Played(t *testing.T) {
	arcs := [][2]int{{0, 1}, {0, 2}, {0, 3}, {4, 2}, {4, 3}, {5, 3}}
	for _, model := range []string{network.NameGigabitEthernet, network.NameMyrinet} {
		s := Scenario{
			Cluster:   Cluster{Nodes: 6, CoresPerNode: 8, Bandwidth: 1e8, MemoryBandwidth: 1e9},
			Model:     Model{Name: model},
			Placement: Placement{Policy: Given},
		}
		var conflict []network.Communication
		for i, arc := range arcs {
			conflict = append(conflict, network.Communication{Name: fmt.Sprint(i), From: arc[0], To: arc[1]})
			s.Placement.Nodes = append(s.Placement.Nodes, arc[0], arc[1])
			s.Applications = append(s.Applications, Application{Name: fmt.Sprint(i), Tasks: []Task{
				{Events: []Event{{Send: &Send{To: new(1), Bytes: new(Size(1))}}}}, {Events: []Event{{Receive: &Receive{}}}},
			}})
		}
		m, err := s.Model.Compile()
		if err != nil {
			t.Fatal(err)
		}
		penalties, err := m.Penalties(conflict)
		if err != nil {
			t.Fatal(err)
		}
		// The first to end has its whole penalty; none has more.
		r, err := run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range penalties {
			got := r.Tasks[2*i].MaxPenalty
			if first := p == minimum(penalties); first && math.Abs(got-p) > 1e-9 || got < 1 {
				t.Errorf("%s: %d has %v, at the start %v", model, i, got, p)
			}
		}
	}
}

func minimum(v []float64) float64 {
	m := v[0]
	for _, x := range v {
		m = math.Min(m, x)
	}
	return m
}

// drawScenario is tasks that exchange messages in pairs at random moments; it
// cannot deadlock, because all play the same list in the same order.
func drawScenario(t *rapid.T) Scenario {
	tasks := rapid.IntRange(2, 10).Draw(t, "tasks")
	nodes := rapid.IntRange(2, 6).Draw(t, "nodes")
	s := Scenario{
		Cluster:   Cluster{Nodes: nodes, CoresPerNode: (tasks + nodes - 1) / nodes, Bandwidth: 1e8, MemoryBandwidth: 1e9, Latency: Duration(rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(t, "latency")), Buffer: Size(rapid.SampledFrom([]int{0, 2e6}).Draw(t, "buffer"))},
		Model:     Model{Name: network.NameGigabitEthernet},
		Placement: Placement{Policy: rapid.SampledFrom([]Policy{RoundRobinNode, RoundRobinProcessor, Random}).Draw(t, "policy")},
	}
	events := make([][]Event, tasks)
	for range rapid.IntRange(0, 30).Draw(t, "messages") {
		from := rapid.IntRange(0, tasks-1).Draw(t, "from")
		to := (from + rapid.IntRange(1, tasks-1).Draw(t, "distance")) % tasks
		pause := Duration(rapid.IntRange(0, 50).Draw(t, "pause")) * Duration(time.Millisecond)
		events[from] = append(events[from], Event{Compute: &pause}, Event{Send: &Send{To: &to, Bytes: new(Size(rapid.IntRange(0, 5).Draw(t, "bytes")) * 1e6)}})
		events[to] = append(events[to], Event{Receive: &Receive{From: &from}})
	}
	a := Application{Name: "a"}
	for _, e := range events {
		a.Tasks = append(a.Tasks, Task{Events: e})
	}
	s.Applications = []Application{a}
	return s
}

// Looking only at what a change reaches gives what looking at everything gives.
func TestNearEqualsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		near, err := run(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := play(context.Background(), s, hidden{network.PaperGigabitEthernet()}, &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range near.Tasks {
			a, b := near.Tasks[i], whole.Tasks[i]
			if math.Abs(a.TotalSeconds-b.TotalSeconds) > 1e-9 || math.Abs(a.MeanPenalty-b.MeanPenalty) > 1e-9 || a.Conflicts != b.Conflicts {
				t.Fatalf("task %d: %+v, at whole parts %+v", i, a, b)
			}
		}
	})
}

// Thousands of messages of a node that begin at the same time are shared in one step; following
// each change by itself would take some 10¹¹ steps.
func TestBurst(t *testing.T) {
	const messages = 5000
	s := decode(t, fmt.Sprintf(`
cluster: {nodes: 2, coresPerNode: 1, bandwidth: 118MB/s, latency: 50us, buffer: 64KiB}
model: {name: gigabit-ethernet}
placement: {policy: round-robin-node}
applications:
- name: burst
  tasks:
  - {repeat: %[1]d, events: [{send: {to: 1, bytes: 1kB}}]}
  - {repeat: %[1]d, events: [{receive: {from: 0}}]}
`, messages))
	r, err := run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := network.PaperGigabitEthernet().Beta * messages * 1e3 / 118e6; math.Abs(r.Tasks[1].TotalSeconds-want) > 1e-4 {
		t.Errorf("%v s, want %v: each of n messages takes beta times n as long", r.Tasks[1].TotalSeconds, want)
	}
}

// hidden is not recognized as GigabitEthernet.
type hidden struct{ network.Model }

func TestAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		s.Model.Name = rapid.SampledFrom([]string{network.NameGigabitEthernet, network.NameMyrinet}).Draw(t, "model")
		r, err := run(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		var sent, received int64
		for i, task := range r.Tasks {
			if sum := task.ComputeSeconds + task.CommunicationSeconds; math.Abs(sum-task.TotalSeconds) > 1e-9 {
				t.Fatalf("task %d: %v of %v seconds are accounted for", i, sum, task.TotalSeconds)
			}
			if task.MaxPenalty < task.MeanPenalty-1e-12 || task.Sent > 0 && task.MeanPenalty < 1 {
				t.Fatalf("task %d: %+v", i, task)
			}
			sent += task.BytesSent
			received += task.BytesReceived
		}
		if sent != received {
			t.Fatalf("%d bytes sent, %d received", sent, received)
		}
	})
}

func TestDeadlocks(t *testing.T) {
	for _, test := range []struct{ tasks, want string }{
		{`[{events: [{receive: {from: 1}}]}, {events: []}]`, `application "a", task 0, event 0 receives from task 1, which has ended: no task sends it`},
		{`[{events: [{compute: 2s}, {send: {to: 1, bytes: 1MB}}]}, {events: []}]`, `after 2 s: application "a", task 0, event 1 sends to task 1, which has ended: no task receives it`},
		{`[{events: [{receive: {from: 1}}]}, {events: [{receive: {from: 0}}]}]`, "event 0 receives from task 0, which waits itself"},
		{`[{repeat: 2, events: [{receive: {}}]}, {events: [{send: {to: 0, bytes: 1MB}}]}]`, "event 0 (round 2) receives from anyone"},
	} {
		s := decode(t, head+"placement: {policy: round-robin-node}\napplications: [{name: a, tasks: "+test.tasks+"}]")
		_, err := run(t.Context(), s)
		if deadlock := (*Deadlock)(nil); !errors.As(err, &deadlock) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.tasks, err, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	const tasks = "applications: [{name: a, tasks: [{events: [{send: {to: 1, bytes: 1MB}}]}, {events: [{receive: {}}]}]}]\n"
	const placed = "placement: {policy: round-robin-node}\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "applications: none has a task"},
		{"an empty document in JSON", "null", "applications: none has a task"},
		{"unknown field in JSON", `{"cluster": {"nodes": 2, "speed": 1}}`, `unknown field "cluster.speed"`},
		{"twice in JSON", `{"cluster": {"nodes": 2, "nodes": 3}}`, `duplicate field "cluster.nodes"`},
		{"not an object", `[1]`, "cannot unmarshal array"},
		{"more events than anybody waits for", head + placed + "applications: [{name: a, tasks: [{repeat: 50000001, events: [{compute: 1s}]}]}]", "repeat of 50000001"},
		{"more events in all", head + placed + "applications: [{name: a, tasks: [{repeat: 30000000, events: [{compute: 1s}, {compute: 1s}]}]}]", "60000000 events: want at most"},
		{"unknown field", head + placed + tasks + "spped: 1\n", "spped"},
		{"negative time", head + placed + "applications: [{name: a, tasks: [{events: [{compute: -1s}]}]}]", "duration"},
		{"no unit", head + placed + "applications: [{name: a, tasks: [{events: [{compute: 5}]}]}]", "with a unit"},
		{"negative bytes", head + placed + strings.Replace(tasks, "1MB", "-1MB", 1), "size"},
		{"to itself", head + placed + strings.Replace(tasks, "to: 1", "to: 0", 1), `application "a", task 0, event 0: sends to task 0`},
		{"to nobody", head + placed + strings.Replace(tasks, "to: 1", "to: 2", 1), "another of the 2 tasks"},
		{"to is missing", head + placed + strings.Replace(tasks, "to: 1, ", "", 1), `application "a", task 0, event 0: sends to no task`},
		{"bytes are missing", head + placed + strings.Replace(tasks, ", bytes: 1MB", "", 1), `application "a", task 0, event 0: sends no bytes`},
		{"bytes are null", head + placed + strings.Replace(tasks, "1MB", "null", 1), "sends no bytes"},
		{"two in one", head + placed + "applications: [{name: a, tasks: [{events: [{compute: 1s, receive: {}}]}]}]", "exactly one of"},
		{"an empty event", head + placed + "applications: [{name: a, tasks: [{events: [{}]}]}]", "exactly one of"},
		{"same name twice", head + placed + "applications: [{name: a, tasks: [{}]}, {name: a, tasks: [{}]}]", `"a": want a name of its own`},
		{"too small", strings.Replace(head, "nodes: 8, coresPerNode: 2", "nodes: 1, coresPerNode: 1", 1) + placed + tasks, "1 cores for 2 tasks"},
		{"unknown model", strings.Replace(head, "gigabit-ethernet", "token-ring", 1) + placed + tasks, `"token-ring": want one of gigabit-ethernet`},
		{"beta of another", strings.Replace(head, "gigabit-ethernet", "myrinet, beta: 0.5", 1) + placed + tasks, "parameters of gigabit-ethernet alone"},
		{"bad beta", strings.Replace(head, "gigabit-ethernet", "gigabit-ethernet, beta: 7", 1) + placed + tasks, "beta of 7"},
		{"too few places", head + "placement: {policy: given, nodes: [0]}\n" + tasks, "1 nodes for 2 tasks"},
		{"no such place", head + "placement: {policy: given, nodes: [0, 8]}\n" + tasks, "node 8: want 0 to 7"},
		{"crowded", head + "placement: {policy: given, nodes: [0, 0, 0]}\n" + strings.Replace(tasks, "}]}]}]", "}]}, {events: []}]}]", 1), "more than 2 tasks on node 0"},
		{"no policy", head + tasks, `placement.policy: ""`},
		{"no memory", strings.Replace(head, "memoryBandwidth: 1GB/s, ", "", 1) + "placement: {policy: given, nodes: [3, 3]}\n" + tasks, "tasks 0 and 1 share node 3"},
		{"not in the table", strings.Replace(head, "gigabit-ethernet", "infiniband", 1) +
			"placement: {policy: given, nodes: [0, 1, 2, 2]}\napplications: [{name: a, tasks: [{events: [{send: {to: 2, bytes: 1MB}}]}, {events: [{send: {to: 3, bytes: 1MB}}]}, {events: [{receive: {}}]}, {events: [{receive: {}}]}]}]", "does not cover"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Decode([]byte(test.text))
			if err == nil {
				_, err = run(t.Context(), s)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestRandomPlacesEveryCoreOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cluster{Nodes: rapid.IntRange(1, 9).Draw(t, "nodes"), CoresPerNode: rapid.IntRange(1, 5).Draw(t, "cores")}
		tasks := rapid.IntRange(1, c.Nodes*c.CoresPerNode).Draw(t, "tasks")
		p := Placement{Policy: Random, Seed: rapid.Uint64().Draw(t, "seed")}
		held := make(map[int]int)
		nodes := p.place(c, tasks)
		for _, n := range nodes {
			if held[n]++; n < 0 || n >= c.Nodes || held[n] > c.CoresPerNode {
				t.Fatalf("%v", nodes)
			}
		}
		if again := p.place(c, tasks); fmt.Sprint(again) != fmt.Sprint(nodes) {
			t.Fatalf("%v, again %v", nodes, again)
		}
	})
}

// A million events are played, and come out of YAML and JSON alike.
func TestMillionEvents(t *testing.T) {
	const text = head + `placement: {policy: round-robin-node}
applications: [{name: a, tasks: [
  {repeat: 250000, events: [{compute: 1us}, {send: {to: 1, bytes: 1MB}}]},
  {repeat: 250000, events: [{receive: {from: 0}}, {compute: 1us}]}]}]`
	s := decode(t, text)
	r, err := run(t.Context(), s)
	if err != nil || r.Tasks[0].Sent != 250_000 || r.Tasks[1].BytesReceived != 250_000_000_000 {
		t.Fatalf("%+v, %v", r, err)
	}
	// 10 ms on the way at 100 MB/s, a millisecond of latency, and a
	// microsecond of computing; the receiver computes while the next one comes.
	if want := 250_000*11.001e-3 + 1e-6; math.Abs(r.TotalSeconds-want) > 1e-6*want {
		t.Errorf("%v s, want %v", r.TotalSeconds, want)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if again := decode(t, string(data)); !reflect.DeepEqual(again, s) {
		t.Errorf("%+v comes back as %+v", s, again)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := run(ctx, decode(t, head+"placement: {policy: round-robin-node}\napplications: [{name: a, tasks: [{events: [{compute: 1s}]}]}]")); err == nil || err.Error() != "enough" {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(head + "placement: {policy: random, seed: 3}\napplications: [{name: a, tasks: [{repeat: 2, events: [{compute: 1ms}, {send: {to: 1, bytes: 1MB}}]}, {events: [{receive: {from: 0}}, {receive: {}}]}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil || s.Cluster.Nodes > 1000 {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = run(ctx, s)
	})
}

// 1,000 tasks of 1,000 events each on 250 nodes of four cores: every task
// computes, sends to a neighbor at a distance that changes, and receives.
func BenchmarkRun(b *testing.B) {
	for _, model := range []string{network.NameGigabitEthernet, network.NameMyrinet} {
		b.Run(model, func(b *testing.B) {
			const tasks, rounds = 1000, 333
			s := Scenario{
				Cluster:   Cluster{Nodes: 250, CoresPerNode: 4, Bandwidth: 1e8, MemoryBandwidth: 1e9, Latency: Duration(50 * time.Microsecond), Buffer: 1e6},
				Model:     Model{Name: model},
				Placement: Placement{Policy: RoundRobinProcessor},
			}
			a := Application{Name: "ring"}
			for i := range tasks {
				var events []Event
				for k := range rounds {
					distance := 1 + 7*(k%5)
					pause := Duration(10*time.Millisecond) + Duration((i*7919+k*104729)%1000)*Duration(10*time.Microsecond)
					from := (i - distance + tasks) % tasks
					events = append(events, Event{Compute: &pause}, Event{Send: &Send{To: new((i + distance) % tasks), Bytes: new(Size(200_000))}}, Event{Receive: &Receive{From: &from}})
				}
				a.Tasks = append(a.Tasks, Task{Events: events})
			}
			s.Applications = []Application{a}
			for b.Loop() {
				r, err := run(b.Context(), s)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.TotalSeconds, "played-s")
			}
		})
	}
}

// run is Run without a trace.
func run(ctx context.Context, s Scenario) (Result, error) {
	r, _, err := Run(ctx, s, 0)
	return r, err
}
