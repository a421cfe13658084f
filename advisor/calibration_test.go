package advisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// measuredOnBlade returns n profiles that were really measured, as of the machine blade.
func measuredOnBlade(t testing.TB, n int) []*v1alpha1.ApplicationProfile {
	t.Helper()
	files, err := filepath.Glob("../docs/example/store/applications/*.yaml")
	if err != nil || len(files) < n {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var profiles []*v1alpha1.ApplicationProfile
	for _, file := range files[:n] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object, err := v1alpha1.Decode(text)
		p, ok := object.(*v1alpha1.ApplicationProfile)
		if err != nil || !ok {
			t.Fatalf("%s: %T, %v", file, object, err)
		}
		p.Spec.Machine.Name, p.Spec.Measurement.Regime = "blade", nil
		profiles = append(profiles, p)
	}
	return profiles
}

func basis(t *testing.T, target, corunner Entry) predictor.Basis {
	t.Helper()
	p, err := predictor.Predict(target.Application, []*predictor.Application{corunner.Application}, predictor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Basis
}

func TestLookupDescribesWhereThereAreEnough(t *testing.T) {
	profiles := measuredOnBlade(t, 6)
	one, other := profiles[0].Name, profiles[1].Name
	moved := func(p *v1alpha1.ApplicationProfile, change func(*v1alpha1.ApplicationProfile)) *v1alpha1.ApplicationProfile {
		return with(p.DeepCopy(), change)
	}
	for _, test := range []struct {
		name     string
		profiles []*v1alpha1.ApplicationProfile
		want     predictor.Basis
	}{
		{"enough", profiles, predictor.MemoryModel},
		{"too few", profiles[:leastFitted-1], predictor.Curves},
		{"too few of one machine", append(slices.Clone(profiles[:leastFitted-1]), moved(profiles[leastFitted-1], func(p *v1alpha1.ApplicationProfile) {
			p.Spec.Machine.Name = "other"
		})), predictor.Curves},
		{"too few of one placement", append(slices.Clone(profiles[:leastFitted-1]), moved(profiles[leastFitted-1], func(p *v1alpha1.ApplicationProfile) {
			p.Spec.Measurement.Regime = &v1alpha1.Regime{Name: "same-core"}
		})), predictor.Curves},
		{"too few of known traffic", append(slices.Clone(profiles[:leastFitted-1]), moved(profiles[leastFitted-1], func(p *v1alpha1.ApplicationProfile) {
			p.Spec.Contentiousness = v1alpha1.Contentiousness{}
		})), predictor.Curves},
		{"too few applications", append(slices.Clone(profiles[:leastFitted-1]), moved(profiles[leastFitted-2], func(p *v1alpha1.ApplicationProfile) {
			p.Name += "-again"
			p.Labels = map[string]string{v1alpha1.ApplicationLabel: other}
		})), predictor.Curves},
		{"too few measured", append(slices.Clone(profiles[:leastFitted-1]), moved(profiles[leastFitted-1], func(p *v1alpha1.ApplicationProfile) {
			for i := range p.Spec.Curves {
				for j := range p.Spec.Curves[i].Points {
					p.Spec.Curves[i].Points[j].Inferred = true
				}
			}
		})), predictor.Curves},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := New(test.profiles, nil)
			if got := basis(t, r.Lookup(one, "blade"), r.Lookup(other, "blade")); got != test.want {
				t.Errorf("predicted from %s, want %s", got, test.want)
			}
			if got := basis(t, r.LookupCurves(one, "blade"), r.LookupCurves(other, "blade")); got != predictor.Curves {
				t.Errorf("LookupCurves predicted from %s", got)
			}
			if own := r.Own(one)["blade"]; own.Application != r.Lookup(one, "blade").Application {
				t.Error("Own and Lookup differ")
			}
		})
	}
}

// What only the traffic is known of stands in any model.
func TestBackgroundKeepsTheModel(t *testing.T) {
	profiles := measuredOnBlade(t, 5)
	r := New(profiles, nil)
	background := &v1alpha1.ApplicationProfile{}
	background.Name = "background"
	background.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: 5 * gb, Source: "measured"}
	a, err := predictor.Compile(background)
	if err != nil {
		t.Fatal(err)
	}
	if got := basis(t, r.Lookup(profiles[0].Name, "blade"), Entry{Application: a}); got != predictor.MemoryModel {
		t.Errorf("beside traffic alone predicted from %s", got)
	}
}

// A model is kept while the profiles it was fitted to are.
func TestNextKeepsTheModel(t *testing.T) {
	profiles := measuredOnBlade(t, 5)
	first := New(profiles, nil)
	name := profiles[0].Name
	kept := first.Next(slices.Clone(profiles), nil)
	if first.Lookup(name, "blade").Application != kept.Lookup(name, "blade").Application {
		t.Error("fitted again to the same profiles")
	}
	fewer := first.Next(profiles[:4], nil)
	if first.Lookup(name, "blade").Application == fewer.Lookup(name, "blade").Application {
		t.Error("not fitted again without one of the profiles")
	}
}

// A model that stays keeps no applications of profiles that are gone.
func TestNextForgets(t *testing.T) {
	profiles := measuredOnBlade(t, 5)
	more := func() *v1alpha1.ApplicationProfile { // of no use to the fit
		return with(profiles[0].DeepCopy(), func(p *v1alpha1.ApplicationProfile) {
			p.Name = "more"
			for i := range p.Spec.Curves {
				for j := range p.Spec.Curves[i].Points {
					p.Spec.Curves[i].Points[j].AchievedBytesPerSecond = nil
				}
			}
		})
	}
	a := New(append(slices.Clone(profiles), more()), nil)
	kept := a.Lookup(profiles[1].Name, "blade").Application
	for range 10 {
		a.Lookup("more", "blade")
		a = a.Next(append(slices.Clone(profiles), more()), nil)
	}
	count := 0
	for range a.calibrations.at(placeOf(profiles[0])).applied.Range {
		count++
	}
	if count != 1 || a.Lookup(profiles[1].Name, "blade").Application != kept {
		t.Errorf("%d calibrated applications, want the one that is in use", count)
	}
}

// Among many, one more seldom changes what is chosen, and the order never.
func TestChoose(t *testing.T) {
	all := given(many(1000))
	first := choose(all)
	named := given(many(1000))
	for i, p := range named {
		p.name = fmt.Sprintf("object-%d", i)
	}
	if !slices.EqualFunc(first, choose(named), func(a, b *Profile) bool { return a.application == b.application }) {
		t.Error("the names of the objects change the choice")
	}
	if len(first) != mostFitted {
		t.Fatalf("%d chosen", len(first))
	}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	if !slices.Equal(first, choose(reversed)) {
		t.Error("the order matters")
	}
	changes := 0
	for i := range 100 {
		if !slices.Equal(first, choose(append(slices.Clone(all), profileOf(profile(fmt.Sprintf("extra-%d", i), "old"))))) {
			changes++
		}
	}
	if changes > 25 { // 6 are expected
		t.Errorf("one more profile of 1000 changed the choice %d times of 100", changes)
	}
}

func TestApplySaysWhyNot(t *testing.T) {
	profiles := measuredOnBlade(t, 5)
	a, err := predictor.Compile(profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	var none *calibrations
	for _, c := range []*calibrations{none, none.next(given(profiles[:2]), nil, nil)} {
		if got, err := c.apply(profiles[0], "", a); got != a || !errors.Is(err, ErrFewProfiles) {
			t.Errorf("too few profiles: %v", err)
		}
	}
	c := none.next(given(profiles), nil, nil)
	moved := profiles[0].DeepCopy()
	moved.Spec.Transferred = &v1alpha1.Transfer{}
	if got, err := c.apply(moved, "", a); got != a || !errors.Is(err, predictor.ErrNotCalibrated) {
		t.Errorf("transferred: %v", err)
	}
	if n, of := c.fitted(profiles[0]); n != 5 || of != 5 {
		t.Errorf("fitted to %d of %d, want 5 of 5", n, of)
	}
}

// A profile that a model is not fitted to counts as one that could have been, and no more.
func TestProfilesThatAreNotFitted(t *testing.T) {
	profiles := measuredOnBlade(t, 4)
	profiles[3].Spec.Communication = &v1alpha1.Communication{Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(1e8), Apart: true}
	oneUnknown := profiles[2].DeepCopy()
	oneUnknown.Spec.Curves[0].Points[0].AchievedBytesPerSecond = nil
	var none *calibrations
	for name, few := range map[string][]*v1alpha1.ApplicationProfile{
		"one apart":                     {profiles[0], profiles[1], profiles[3]},
		"one with a point not achieved": {profiles[0], profiles[1], oneUnknown},
	} {
		c := none.next(given(few), nil, nil)
		if _, err := c.model(profiles[0]); !errors.Is(err, ErrFewProfiles) {
			t.Errorf("%s of three: %v, want too few", name, err)
		}
		if n, of := c.fitted(profiles[0]); n != 0 || of != 0 {
			t.Errorf("%s of three: fitted to %d of %d", name, n, of)
		}
	}
	if n, of := none.next(given(profiles), nil, nil).fitted(profiles[0]); n != 3 || of != 4 {
		t.Errorf("one apart of four: fitted to %d of %d, want 3 of 4", n, of)
	}
}
