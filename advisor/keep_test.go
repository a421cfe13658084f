package advisor

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// shelf keeps results in memory and counts.
type shelf struct {
	data          map[string][]byte
	loaded, saved map[string]int
}

func newShelf() *shelf {
	return &shelf{map[string][]byte{}, map[string]int{}, map[string]int{}}
}

func (s *shelf) Load(kind, key string) ([]byte, bool) {
	data, ok := s.data[kind+key]
	if ok {
		s.loaded[kind]++
	}
	return data, ok
}

func (s *shelf) Save(kind, key string, data []byte) {
	s.saved[kind]++
	s.data[kind+key] = data
}

// readWhenNeeded are profiles that are read when they are needed; reads counts it.
func readWhenNeeded(t *testing.T, profiles []*v1alpha1.ApplicationProfile, reads *atomic.Int32) []*Profile {
	t.Helper()
	all := make([]*Profile, len(profiles))
	for i, p := range profiles {
		text, err := v1alpha1.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		if all[i], err = NewProfile(Summarize(p), string(text), func() (*v1alpha1.ApplicationProfile, error) {
			reads.Add(1)
			return p, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// predictions are those of every profile beside the next, and beside the next two.
func predictions(t *testing.T, a *Advisor, profiles []*v1alpha1.ApplicationProfile) []predictor.Prediction {
	t.Helper()
	var all []predictor.Prediction
	for i := range profiles {
		for n := 2; n <= 3; n++ {
			var names []string
			for j := range n {
				names = append(names, profiles[(i+j)%len(profiles)].Name)
			}
			entries, err := a.Choose(names, "blade")
			if err != nil {
				t.Fatal(err)
			}
			g, err := a.Group(t.Context(), entries, predictor.Default)
			if err != nil {
				t.Fatal(err)
			}
			p, err := g.Predict(0, true)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}

// What is kept gives the same predictions to the last bit, and is not used for other
// profiles.
func TestKeep(t *testing.T) {
	profiles := measuredOnBlade(t, 8)
	for i := range profiles {
		profiles[i] = profiles[i].Rounded()
	}
	want := predictions(t, New(profiles, nil), profiles)
	s := newShelf()
	var reads atomic.Int32
	advise := func(profiles []*v1alpha1.ApplicationProfile, machines ...*v1alpha1.MachineProfile) *Advisor {
		return NewOf(readWhenNeeded(t, profiles, &reads), machines).Keep(s)
	}
	for _, when := range []string{"fitted", "kept", "kept again"} {
		a := advise(profiles)
		if got := predictions(t, a, profiles); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: predictions differ", when)
		}
		a.SaveKept()
	}
	if fmt.Sprint(s.saved, s.loaded) != fmt.Sprint(map[string]int{keptModel: 1, keptApplications: 1}, map[string]int{keptModel: 2, keptApplications: 2}) {
		t.Errorf("saved %v, loaded %v; want each saved once and loaded twice", s.saved, s.loaded)
	}

	changed := append([]*v1alpha1.ApplicationProfile{}, profiles...)
	changed[3] = changed[3].DeepCopy()
	changed[3].Spec.Curves[0].Points[0].NormalizedPerformance *= 0.9
	if got, want := predictions(t, advise(changed), changed), predictions(t, New(changed, nil), changed); !reflect.DeepEqual(got, want) {
		t.Error("a changed profile: predictions differ")
	}
	shared := machine("blade", 40)
	shared.Spec.Link = v1alpha1.LinkShared
	if got, want := predictions(t, advise(profiles, shared), profiles), predictions(t, New(profiles, []*v1alpha1.MachineProfile{shared}), profiles); !reflect.DeepEqual(got, want) {
		t.Error("another link: predictions differ")
	}
	for key, data := range s.data {
		s.data[key] = data[:len(data)/2]
	}
	if got := predictions(t, advise(profiles), profiles); !reflect.DeepEqual(got, want) {
		t.Error("cut in half: predictions differ")
	}
}

// Profiles whose content is not known are fitted as ever.
func TestKeepWithoutSums(t *testing.T) {
	profiles := measuredOnBlade(t, 5)
	s := newShelf()
	a := New(profiles, nil).Keep(s)
	predictions(t, a, profiles)
	a.SaveKept()
	if len(s.data) > 0 {
		t.Errorf("kept %d results", len(s.data))
	}
}

// Of profiles that are read when they are needed, an answer needs those that it is about,
// where the model is kept.
func TestReadsWhatIsNeeded(t *testing.T) {
	profiles := measuredOnBlade(t, 8)
	for i := range profiles {
		profiles[i] = profiles[i].Rounded()
	}
	s := newShelf()
	for _, want := range []int32{int32(len(profiles)), 2} {
		var reads atomic.Int32
		a := NewOf(readWhenNeeded(t, profiles, &reads), nil).Keep(s)
		entries, err := a.Choose([]string{profiles[0].Name, profiles[5].Name}, "")
		if err != nil {
			t.Fatal(err)
		}
		g, err := a.Group(t.Context(), entries, predictor.Default)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Predict(0, true); err != nil {
			t.Fatal(err)
		}
		if n := len(a.Applications()); n != len(profiles) || reads.Load() != want {
			t.Errorf("%d applications, %d read; want %d, and %d read", n, reads.Load(), len(profiles), want)
		}
	}
}

// A summary says of a profile what the profile says.
func TestSummary(t *testing.T) {
	dated := profile("dated", "old")
	dated.Spec.Measurement.Time = metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600)))
	for _, p := range append(measuredOnBlade(t, 4), dated, profile("undated", "old")) {
		want := profileOf(p)
		got, err := NewProfile(Summarize(p), "sum", nil)
		if err != nil {
			t.Fatal(err)
		}
		if !got.measured.Equal(want.measured) {
			t.Errorf("%s: measured %v, want %v", p.Name, got.measured, want.measured)
		}
		got.time = ""
		if got.summary != want.summary {
			t.Errorf("%s: %+v, want %+v", p.Name, got.summary, want.summary)
		}
	}
	if _, err := NewProfile([]byte("nothing"), "sum", nil); err == nil {
		t.Error("no error of a damaged summary")
	}
}

// A profile that cannot be read when it is needed is invalid, and no model is kept
// without it.
func TestCannotBeReadLater(t *testing.T) {
	profiles := measuredOnBlade(t, 6)
	var reads atomic.Int32
	all := readWhenNeeded(t, profiles, &reads)
	all[3].read = func() (*v1alpha1.ApplicationProfile, error) { return nil, errors.New("gone") }
	s := newShelf()
	a := NewOf(all, nil).Keep(s)
	if e := a.Lookup(profiles[3].Name, "blade"); e.State != Invalid || e.Reason != "gone" || !errors.Is(e.Err(), ErrUnusable) {
		t.Errorf("%+v", e)
	}
	if e := a.Lookup(profiles[0].Name, "blade"); e.State != Known {
		t.Errorf("another: %s: %s", e.State, e.Reason)
	}
	a.SaveKept()
	if s.saved[keptModel] > 0 {
		t.Error("a model that lacks a profile is kept")
	}
}
