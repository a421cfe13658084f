package advisor

import (
	"fmt"
	"reflect"
	"testing"

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

func sumsOf(profiles []*v1alpha1.ApplicationProfile) map[*v1alpha1.ApplicationProfile]string {
	sums := map[*v1alpha1.ApplicationProfile]string{}
	for _, p := range profiles {
		text, err := v1alpha1.Encode(p)
		if err != nil {
			panic(err)
		}
		sums[p] = string(text)
	}
	return sums
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
			p, err := a.Group(entries, predictor.Default).Predict(0, true)
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
	advise := func(profiles []*v1alpha1.ApplicationProfile, machines ...*v1alpha1.MachineProfile) *Advisor {
		return New(profiles, machines).Keep(s, sumsOf(profiles))
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
	a := New(profiles, nil).Keep(s, nil)
	predictions(t, a, profiles)
	a.SaveKept()
	if len(s.data) > 0 {
		t.Errorf("kept %d results", len(s.data))
	}
}
