package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/dop251/goja"

	"bandmate.dev/bandmate/predictor"
)

// agreement is how far apart the two may be: rounding, amplified by an
// iteration that ends when its steps are small.
const agreement = 1e-9

// TestModelIsThePredictor holds the port of the default method in the page to
// the Go predictor, on pairs and groups of profiles of every kind.
func TestModelIsThePredictor(t *testing.T) {
	source, err := os.ReadFile("../../report/page/model.js")
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	if _, err := vm.RunString(string(source) + "; this.predict = (text) => { const all = JSON.parse(text);" +
		" return JSON.stringify([bandmateModel.predict(all[0], all.slice(1)), all.length === 2 ? bandmateModel.slowdown(all[0], all[1]) : null]); };"); err != nil {
		t.Fatal(err)
	}
	predict, ok := goja.AssertFunction(vm.Get("predict"))
	if !ok {
		t.Fatal("model.js defines no predict")
	}
	var apps []*predictor.Application
	for _, p := range makeProfiles(40, 7) {
		a, err := predictor.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, a)
	}
	random := rand.New(rand.NewPCG(1, 2))
	seen := struct{ extrapolated, phased, disturbed int }{}
	for range 600 {
		size := []int{2, 2, 2, 3, 4, 6}[random.IntN(6)]
		chosen := make([]*predictor.Application, size)
		snapshots := make([]predictor.Snapshot, size)
		for i := range chosen {
			chosen[i] = apps[random.IntN(len(apps))]
			snapshots[i] = chosen[i].Snapshot()
		}
		want, err := predictor.Predict(chosen[0], chosen[1:], predictor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(snapshots)
		if err != nil {
			t.Fatal(err)
		}
		result, err := predict(goja.Undefined(), vm.ToValue(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			predictor.Prediction
			Beyond       float64 `json:"beyond"`
			Combinations int     `json:"combinations"`
		}
		var slowdown *float64
		if err := json.Unmarshal([]byte(result.String()), &[]any{&answer, &slowdown}); err != nil {
			t.Fatal(err)
		}
		numbers := [][2]float64{
			{float64(answer.Slowdown), float64(want.Slowdown)},
			{float64(answer.NormalizedPerformance), float64(want.NormalizedPerformance)},
			{float64(answer.Interval.Low), float64(want.Interval.Low)},
			{float64(answer.Interval.High), float64(want.Interval.High)},
			{float64(answer.Pressure.BytesPerSecond), float64(want.Pressure.BytesPerSecond)},
			{float64(*answer.Pressure.ReadShare), float64(*want.Pressure.ReadShare)},
		}
		if size == 2 {
			numbers = append(numbers, [2]float64{*slowdown, float64(want.Slowdown)})
		}
		for i, n := range numbers {
			if !(math.Abs(n[0]-n[1]) <= agreement*math.Abs(n[1])) {
				t.Errorf("%s beside %v: number %d is %v in the page, %v in the predictor", want.Target, want.Corunners, i, n[0], n[1])
			}
		}
		if answer.Beyond > 0 {
			seen.extrapolated++
		}
		if answer.Combinations > 1 {
			seen.phased++
		}
		if want.Slowdown > 1.3 {
			seen.disturbed++
		}
	}
	if least := slices.Min([]int{seen.extrapolated, seen.phased, seen.disturbed}); least < 50 {
		t.Errorf("the profiles made say little: %+v of 600", seen)
	}
}
