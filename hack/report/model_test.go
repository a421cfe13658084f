package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/dop251/goja"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// agreement is how far apart the two may be: rounding, amplified by an
// iteration that ends when its steps are small.
const agreement = 1e-9

// answer is what the page makes of a question.
type answer struct {
	predictor.Prediction
	Beyond       float64 `json:"beyond"`
	Combinations int     `json:"combinations"`
}

// ask returns what the page answers: predict of the first beside the others, and,
// of two, the cell of the matrix.
type ask func(chosen []predictor.Snapshot, set predictor.SnapshotSet) (answer, *float64)

// openPage runs the scripts of the page that predict.
func openPage(t *testing.T) ask {
	t.Helper()
	vm := goja.New()
	for _, file := range []string{"memory.js", "communication.js", "model.js"} {
		source, err := os.ReadFile("../../report/page/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vm.RunString(string(source)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vm.RunString("this.ask = (text) => { const [all, models, networks] = JSON.parse(text), model = bandmateModel(models, networks);" +
		" return JSON.stringify([model.predict(all[0], all.slice(1)), all.length === 2 ? model.slowdown(all[0], all[1]) : null]); };"); err != nil {
		t.Fatal(err)
	}
	call, ok := goja.AssertFunction(vm.Get("ask"))
	if !ok {
		t.Fatal("the scripts define nothing to ask")
	}
	return func(chosen []predictor.Snapshot, set predictor.SnapshotSet) (a answer, cell *float64) {
		t.Helper()
		text, err := json.Marshal([]any{chosen, set.Models, set.Networks})
		if err != nil {
			t.Fatal(err)
		}
		result, err := call(goja.Undefined(), vm.ToValue(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(result.String()), &[]any{&a, &cell}); err != nil {
			t.Fatal(err)
		}
		return a, cell
	}
}

// compileAs compiles profiles as `bandmate predict` does.
func compileAs(t *testing.T, profiles []*v1alpha1.ApplicationProfile) []*predictor.Application {
	t.Helper()
	known := advisor.New(profiles, []*v1alpha1.MachineProfile{MakeMachine()})
	apps := make([]*predictor.Application, len(profiles))
	for i, p := range profiles {
		e := known.Lookup(p.Name, p.Spec.Machine.Name)
		if err := e.Err(); err != nil {
			t.Fatal(err)
		}
		apps[i] = e.Application
	}
	return apps
}

// seen counts what the questions were about.
type seen struct {
	questions, memory, curves, extrapolated, phased, disturbed, groups, refused int
	// steady are groups with too many phases: some members at their mean.
	steady int
	// network are those of a target that the network slows down beyond memory.
	network int
}

// compare asks both about random pairs and groups.
func (s *seen) compare(t *testing.T, page ask, apps []*predictor.Application, random *rand.Rand, questions int) {
	t.Helper()
	set := predictor.Snapshots(apps)
	for range questions {
		size := []int{2, 2, 2, 3, 4, 6, 8, 8}[random.IntN(8)]
		chosen, given := make([]*predictor.Application, size), make([]predictor.Snapshot, size)
		for i := range chosen {
			k := random.IntN(len(apps))
			chosen[i], given[i] = apps[k], set.Applications[k]
		}
		got, cell := page(given, set)
		want, err := predictor.Predict(chosen[0], chosen[1:], predictor.Options{})
		if err != nil {
			if got.Slowdown != 0 || cell != nil {
				t.Errorf("%s: the page answers %v where the predictor refuses: %v", chosen[0].Name(), got.Slowdown, err)
			}
			s.refused++
			continue
		}
		s.count(got, want, given)
		numbers := [][2]float64{
			{float64(got.Slowdown), float64(want.Slowdown)},
			{float64(got.NormalizedPerformance), float64(want.NormalizedPerformance)},
			{float64(got.Interval.Low), float64(want.Interval.Low)},
			{float64(got.Interval.High), float64(want.Interval.High)},
			{float64(got.Pressure.BytesPerSecond), float64(want.Pressure.BytesPerSecond)},
			{float64(*got.Pressure.ReadShare), float64(*want.Pressure.ReadShare)},
		}
		if size == 2 {
			numbers = append(numbers, [2]float64{*cell, float64(want.Slowdown)})
		}
		for i, n := range numbers {
			if !(math.Abs(n[0]-n[1]) <= agreement*math.Abs(n[1])) {
				t.Errorf("%s beside %v (%s): number %d is %v in the page, %v in the predictor", want.Target, want.Corunners, want.Basis, i, n[0], n[1])
			}
		}
		if got.Basis != want.Basis {
			t.Errorf("%s beside %v: the page predicts from %s, the predictor from %s", want.Target, want.Corunners, got.Basis, want.Basis)
		}
	}
}

func (s *seen) count(got answer, want predictor.Prediction, given []predictor.Snapshot) {
	add := func(counter *int, is bool) {
		if is {
			*counter++
		}
	}
	s.questions++
	add(&s.memory, want.Basis == predictor.MemoryModel)
	add(&s.curves, want.Basis == predictor.Curves)
	add(&s.groups, want.Basis == predictor.MemoryModel && len(given) > 2)
	add(&s.extrapolated, got.Beyond > 0)
	add(&s.phased, got.Combinations > 1)
	phases := 1
	for i := range given {
		phases *= len(given[i].Phases)
	}
	add(&s.steady, want.Basis == predictor.MemoryModel && phases > got.Combinations)
	add(&s.network, want.Parts != nil && want.Slowdown > want.Parts.MemorySlowdown+1e-3)
	add(&s.disturbed, want.Slowdown > 1.3)
}

// TestCurvesInThePage holds the page to the predictor where predictions rest on
// curves, on pairs and groups of profiles of every kind.
func TestCurvesInThePage(t *testing.T) {
	var apps []*predictor.Application
	for _, p := range makeProfiles(40, 7) {
		a, err := predictor.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, a)
	}
	var s seen
	s.compare(t, openPage(t), apps, rand.New(rand.NewPCG(1, 2)), 300)
	if min(s.curves, s.extrapolated, s.phased, s.disturbed) < 30 {
		t.Errorf("the profiles made say little: %+v", s)
	}
}

// TestMemoryInThePage holds the page to the predictor on random stores in which a
// model of the memory describes most applications: pairs and groups of these, and
// of these with others.
func TestMemoryInThePage(t *testing.T) {
	page := openPage(t)
	var s seen
	for store := range uint64(10) {
		random := rand.New(rand.NewPCG(store, 3))
		s.compare(t, page, compileAs(t, MakeMeasured(4+random.IntN(17), store)), random, 40)
	}
	if min(s.memory, s.curves, s.groups, s.extrapolated, s.phased, s.disturbed, s.refused) < 20 || s.steady < 1 {
		t.Errorf("the stores made say little: %+v", s)
	}
}

// TestNetworkInThePage holds the page to the predictor where applications share a
// network card, too.
func TestNetworkInThePage(t *testing.T) {
	page := openPage(t)
	var s seen
	for store := range uint64(8) {
		random := rand.New(rand.NewPCG(store, 5))
		s.compare(t, page, compileAs(t, MakeCommunicating(4+random.IntN(17), store)), random, 40)
	}
	if min(s.memory, s.curves, s.network) < 20 {
		t.Errorf("the stores made say little: %+v", s)
	}
}
