package onboard

import (
	"math"
	"slices"
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/internal/testprogram"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// apart makes a session believe that its interferer is on the other socket of two.
func apart(t *testing.T, s *bench.Session) {
	t.Helper()
	m := &topology.Machine{}
	for node, cpus := range []topology.Placement{{Target: s.Placement.Target}, {Target: s.Placement.Interferer}} {
		distances := []int{21, 21}
		distances[node] = 10
		m.Nodes = append(m.Nodes, topology.Node{ID: node, CPUs: cpus.Target, Distances: distances, MemoryBytes: 1 << 30})
		for _, id := range cpus.Target.List() {
			m.CPUs = append(m.CPUs, topology.CPU{ID: id, Core: id, Socket: node, Node: node})
		}
	}
	slices.SortFunc(m.CPUs, func(a, b topology.CPU) int { return a.ID - b.ID })
	s.Machine, s.Placement.MemoryNode = m, new(0)
}

// An application that takes twice as long on the interferer's CPUs is measured in both
// roles where these are farther from the memory, and in one where they are not.
func TestMeasureDistance(t *testing.T) {
	session := openSession(t, bench.Placing{})
	e := &Experiment{Session: session}
	application := Application{Name: "a", Command: testprogram.Shell(`case $(taskset -cp $$) in *": ` + session.Placement.Interferer.String() + `") sleep 0.4;; *) sleep 0.1;; esac`)}
	if err := e.MeasureDistance(t.Context(), application, nil); err != nil || len(e.distant) > 0 {
		t.Fatalf("measured %v on a machine where everyone is near, %v", e.distant, err)
	}
	apart(t, session)
	if got := session.Machine.Link(session.Placement); got != topology.SharedLink {
		t.Fatalf("link %q", got)
	}
	if err := e.MeasureDistance(t.Context(), application, nil); err != nil {
		t.Fatal(err)
	}
	d := e.distant["a"]
	if d == nil || len(d.seconds) != distantRuns || slices.Min(d.seconds) < 0.4 {
		t.Fatalf("measured %+v, want %d runs on CPUs %s", d, distantRuns, session.Placement.Interferer)
	}
	source := &scripted{reads: []units.Bandwidth{5e9, 7e9, 6e9}}
	if err := e.MeasureDistance(t.Context(), application, source); err != nil {
		t.Fatal(err)
	}
	if counted := e.distant["a"].traffic; counted == nil || counted.Read != 6e9 {
		t.Errorf("counted %+v, want the median of three runs", counted)
	}
	if err := e.MeasureDistance(t.Context(), Application{Name: "b", Command: testprogram.Shell("exit 3")}, nil); err == nil {
		t.Error("a command that fails: no error")
	}
}

func TestProfileOfBothRoles(t *testing.T) {
	measured := func() *v1alpha1.ApplicationProfile {
		p := &v1alpha1.ApplicationProfile{}
		p.Spec.Solo = v1alpha1.Timing{Seconds: 2, Repeats: 3}
		p.Spec.Contentiousness = v1alpha1.Contentiousness{
			ReadBytesPerSecond: 12e9, WriteBytesPerSecond: 6e9, Source: profiler.ProbeName,
			Timeline: []v1alpha1.TrafficSample{{Seconds: 2, ReadBytesPerSecond: 12e9, WriteBytesPerSecond: 6e9}},
		}
		return p
	}
	d := &distant{cpus: cpuset.New(4, 5), seconds: []float64{3.1, 3, 2.9}}
	p := measured()
	d.addTo(p, cpuset.New(0, 1))
	got := p.Spec.Distance
	if got == nil || got.CorunnerCPUs != "4-5" || got.CorunnerSolo.Seconds != 3 || got.CorunnerSolo.Repeats != 3 || got.CorunnerSolo.RelativeSpread == nil ||
		got.TargetReadBytesPerSecond != 12e9 || got.TargetWriteBytesPerSecond != 6e9 {
		t.Errorf("distance %+v", got)
	}
	c := &p.Spec.Contentiousness
	if bytes := (c.ReadBytesPerSecond + c.WriteBytesPerSecond) * 3; math.Abs(bytes-18e9*2) > 1 {
		t.Errorf("moves %v bytes as a co-runner, want as many as the target", bytes)
	}
	if last := c.Timeline[0]; math.Abs(last.Seconds-3) > 1e-9 || math.Abs(last.ReadBytesPerSecond-8e9) > 1 || len(p.Spec.Warnings) > 0 {
		t.Errorf("time line %+v, warnings %v", c.Timeline, p.Spec.Warnings)
	}
	d.traffic = &profiler.Summary{Source: "imc", Traffic: units.Traffic{Read: 7e9, Write: 4e9}}
	p = measured()
	d.addTo(p, cpuset.New(0, 1, 2, 3))
	if c := p.Spec.Contentiousness; c.ReadBytesPerSecond != 7e9 || c.WriteBytesPerSecond != 4e9 || c.Source != "imc" || len(p.Spec.Warnings) != 1 {
		t.Errorf("contentiousness %+v, warnings %v; want the counted traffic, and that CPUs are fewer", c, p.Spec.Warnings)
	}
}
