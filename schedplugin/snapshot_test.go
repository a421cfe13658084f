package schedplugin

import (
	"fmt"
	"testing"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
)

// measured makes n profiles of one machine that a model of its memory fits: each
// loses in proportion to what the interferer does.
func measured(n int) []*v1alpha1.ApplicationProfile {
	profiles := make([]*v1alpha1.ApplicationProfile, n)
	for i := range profiles {
		p := &v1alpha1.ApplicationProfile{}
		p.Name = fmt.Sprintf("app-%d", i)
		p.Spec.Machine.Name = "blade"
		p.Spec.Solo = v1alpha1.Timing{Seconds: 1, Repeats: 3}
		p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: 2e9 * float64(i+1), Source: "imc"}
		for _, share := range []float64{0.5, 1} {
			c := v1alpha1.SensitivityCurve{ReadShare: share}
			for _, level := range []float64{0.25, 0.5, 0.75, 1} {
				b := 20e9 * level
				achieved := 0.95 * b
				c.Points = append(c.Points, v1alpha1.CurvePoint{
					Level: level, InterfererBytesPerSecond: b, AchievedBytesPerSecond: &achieved,
					NormalizedPerformance: 1 - 0.03*float64(i+1)*level*level, Repeats: 3,
				})
			}
			p.Spec.Curves = append(p.Spec.Curves, c)
		}
		profiles[i] = p
	}
	return profiles
}

// Models that were asked for come into the same snapshot, once; what is known that
// well stays as it is.
func TestCatchUp(t *testing.T) {
	s := newSnapshot(advisor.New(measured(5), nil))
	asked := 0
	s.onNew = func() { asked++ }
	first, nobody := s.lookup("app-1", "blade"), s.lookup("nobody", "blade")
	if !first.byCurves || nobody.byCurves || nobody.Application != nil {
		t.Fatalf("at first: %+v, %+v", first, nobody)
	}
	round := s.round.Load()
	s.catchUp()
	described := s.lookup("app-1", "blade")
	if described.byCurves || !described.Application.Calibrated() || described.sketch == nil {
		t.Errorf("afterwards: %+v", described)
	}
	if s.round.Load() == round {
		t.Error("nobody can tell that it changed")
	}
	s.lookup("app-2", "blade")
	s.catchUp()
	if s.lookup("app-1", "blade") != described || asked != 2 {
		t.Errorf("described twice, or asked for %d times, want 2", asked)
	}
	s.waiting.Range(func(key, _ any) bool {
		t.Errorf("%v still waits", key)
		return true
	})
}

// What pods name is described before they are scheduled, and for a snapshot that
// follows too soon by that one.
func TestWant(t *testing.T) {
	r := advisor.New(measured(5), nil)
	s := newSnapshot(r)
	asked := 0
	s.onNew = func() { asked++ }
	p := &pods{named: s.want}
	for _, application := range []string{"app-1", "app-1", "nobody", ""} {
		p.handler().OnAdd(pod("p", application, 1, ""), false)
	}
	if asked != 1 {
		t.Errorf("asked %d times for a model, want once", asked)
	}
	next := s.next(r)
	for name, s := range map[string]*snapshot{"the same": s, "the next": next} {
		s.catchUp()
		if k := s.lookup("app-1", "blade"); k.byCurves || !k.Application.Calibrated() || k.sketch == nil {
			t.Errorf("%s: %+v", name, k)
		}
		s.due.Range(func(application, _ any) bool {
			t.Errorf("%s: %v is still due", name, application)
			return true
		})
	}
	if _, stored := s.wanted.Load("nobody"); stored {
		t.Error("an invented name is kept")
	}
}

// A node whose residents wait for a model is read anew when it is there, and only
// then.
func TestNodesCatchUp(t *testing.T) {
	p, h := plugin(t, advisor.New(measured(5), nil), nil)
	h.node("waits", "blade").add(pod("a", "app-1", 1, ""))
	h.node("idle", "blade")
	s := p.watch.snapshot()
	before := p.occupancyOf(h.nodes["waits"], s)
	idle := p.occupancyOf(h.nodes["idle"], s)
	if !before.waiting || idle.waiting {
		t.Fatalf("waiting: %v, %v", before.waiting, idle.waiting)
	}
	if p.occupancyOf(h.nodes["waits"], s) != before {
		t.Error("read anew although nothing changed")
	}
	s.catchUp()
	after := p.occupancyOf(h.nodes["waits"], s)
	if after.waiting || !after.residents[0].known.Application.Calibrated() {
		t.Errorf("afterwards: %+v", after)
	}
	if p.occupancyOf(h.nodes["idle"], s) != idle {
		t.Error("a node without residents was read anew")
	}
}

// A pod's first scheduling does not wait for a model of the memory; the next
// snapshot has it, and asks for no other.
func TestSnapshotCatchesUp(t *testing.T) {
	r := advisor.New(measured(5), nil)
	s := newSnapshot(r)
	asked := 0
	s.onNew = func() { asked++ }
	if k := s.lookup("app-1", "blade"); k.Application == nil || k.Application.Calibrated() || k.sketch == nil {
		t.Fatalf("at first: %+v", k)
	}
	if s.lookup("app-1", "blade"); asked != 1 {
		t.Errorf("asked %d times for a new snapshot, want once", asked)
	}
	next := s.next(r)
	k := next.lookup("app-1", "blade")
	if !k.Application.Calibrated() || k.sketch == nil {
		t.Errorf("in the next snapshot: %+v", k)
	}
	again := next.next(r).lookup("app-1", "blade")
	if next.next(r).lookup("app-1", "blade") != k {
		t.Error("it was looked up anew although nothing changed")
	}
	if again.sketch != k.sketch || again.Application != k.Application || asked != 1 {
		t.Errorf("nothing changed, but it was sketched anew, or asked for again (%d)", asked)
	}
	if gone := next.next(advisor.New(nil, nil)).lookup("app-1", "blade"); gone.Application != nil {
		t.Error("a profile that is gone is still known")
	}
}
