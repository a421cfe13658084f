package schedplugin

import (
	"fmt"
	"reflect"
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

// Calibrated profiles replace pending ones, once; others stay as they are.
func TestCalibrate(t *testing.T) {
	s := newProfiles(advisor.New(measured(5), nil))
	asked := 0
	s.onNew = func() { asked++ }
	first, nobody := s.lookup("app-1", "blade"), s.lookup("nobody", "blade")
	if !first.pending || nobody.pending || nobody.Application != nil {
		t.Fatalf("at first: %+v, %+v", first, nobody)
	}
	round := s.round.Load()
	s.calibrate()
	described := s.lookup("app-1", "blade")
	if described.pending || !described.Application.Calibrated() || described.fast == nil {
		t.Errorf("afterward: %+v", described)
	}
	if s.round.Load() == round {
		t.Error("nobody can tell that it changed")
	}
	s.lookup("app-2", "blade")
	s.calibrate()
	if s.lookup("app-1", "blade") != described || asked != 2 {
		t.Errorf("described twice, or asked for %d times, want 2", asked)
	}
	s.uncalibrated.Range(func(key, _ any) bool {
		t.Errorf("%v still waits", key)
		return true
	})
}

// Applications that pods name are calibrated before the pods are scheduled, if need be
// by the next profiles.
func TestExpect(t *testing.T) {
	r := advisor.New(measured(5), nil)
	s := newProfiles(r)
	asked := 0
	s.onNew = func() { asked++ }
	p := &pods{named: s.expect}
	for _, application := range []string{"app-1", "app-1", "nobody", ""} {
		p.handler().OnAdd(pod("p", application, 1, ""), false)
	}
	if asked != 1 {
		t.Errorf("asked %d times for a model, want once", asked)
	}
	next := s.next(r)
	for name, s := range map[string]*profiles{"the same": s, "the next": next} {
		s.calibrate()
		if k := s.lookup("app-1", "blade"); k.pending || !k.Application.Calibrated() || k.fast == nil {
			t.Errorf("%s: %+v", name, k)
		}
		s.due.Range(func(application, _ any) bool {
			t.Errorf("%s: %v is still due", name, application)
			return true
		})
	}
	if _, stored := s.named.Load("nobody"); stored {
		t.Error("an invented name is kept")
	}
}

// A node whose residents have pending profiles is read again when these are
// calibrated, and only then.
func TestNodesAreCalibrated(t *testing.T) {
	p, h := plugin(t, advisor.New(measured(5), nil), nil)
	h.node("waits", "blade").add(pod("a", "app-1", 1, ""))
	h.node("idle", "blade")
	s := p.watch.profiles()
	read := func(node string) *nodeState { return p.nodeState(p.nodes.slot(node), h.nodes[node], s) }
	before, idle := read("waits"), read("idle")
	if !before.pending || idle.pending {
		t.Fatalf("pending: %v, %v", before.pending, idle.pending)
	}
	if read("waits") != before {
		t.Error("read again although nothing changed")
	}
	s.calibrate()
	after := read("waits")
	if after.pending || !after.node.Residents[0].Entry.Application.Calibrated() {
		t.Errorf("afterward: %+v", after)
	}
	if read("idle") != idle {
		t.Error("a node without residents was read again")
	}
}

// A lookup does not wait for a model of the memory; the next profiles have it and ask
// for no other.
func TestNextCalibrates(t *testing.T) {
	r := advisor.New(measured(5), nil)
	s := newProfiles(r)
	asked := 0
	s.onNew = func() { asked++ }
	if k := s.lookup("app-1", "blade"); k.Application == nil || k.Application.Calibrated() || k.fast == nil {
		t.Fatalf("at first: %+v", k)
	}
	if s.lookup("app-1", "blade"); asked != 1 {
		t.Errorf("asked %d times for calibration, want once", asked)
	}
	next := s.next(r)
	k := next.lookup("app-1", "blade")
	if !k.Application.Calibrated() || k.fast == nil {
		t.Errorf("in the next profiles: %+v", k)
	}
	again := next.next(r).lookup("app-1", "blade")
	if next.next(r).lookup("app-1", "blade") != k {
		t.Error("it was looked up again although nothing changed")
	}
	if again.fast != k.fast || again.Application != k.Application || asked != 1 {
		t.Errorf("nothing changed, but it was approximated again, or asked for again (%d)", asked)
	}
	if gone := next.next(advisor.New(nil, nil)).lookup("app-1", "blade"); gone.Application != nil {
		t.Error("a profile that is gone is still known")
	}
}

// The metrics count the profile of a machine that is not used.
func TestInvalidMachineIsCounted(t *testing.T) {
	p, _ := plugin(t, &advisor.Advisor{}, nil)
	invalid := &v1alpha1.MachineProfile{}
	invalid.Name = "bad"
	if err := p.watch.informers[machineResource].GetStore().Add(invalid); err != nil {
		t.Fatal(err)
	}
	p.watch.changed.Store(true)
	p.watch.rebuild()
	if got := value(t, p, "bandmate_profiles"); got != 1 {
		t.Errorf("%v profiles, want the invalid one", got)
	}
}

// The points of a profile are the same wherever they lie.
func TestGatherPoints(t *testing.T) {
	p := &v1alpha1.ApplicationProfile{}
	for i := range 3 {
		c := v1alpha1.SensitivityCurve{ReadShare: float64(i) / 2}
		for j := range 4 {
			point := v1alpha1.CurvePoint{Level: float64(j + 1), AchievedBytesPerSecond: new(float64(10*i + j))}
			if j%2 == 0 {
				point.Spread = new(float64(j) / 100)
			}
			c.Points = append(c.Points, point)
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	want := p.DeepCopy()
	gatherPoints(p)
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	p.Spec.Curves[0].Points = append(p.Spec.Curves[0].Points, v1alpha1.CurvePoint{})
	if !reflect.DeepEqual(p.Spec.Curves[1], want.Spec.Curves[1]) {
		t.Error("to append to a curve changes the next one")
	}
}
