package report

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/dop251/goja"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/report/page"
	"bandmate.dev/bandmate/units"
)

// Agreement of the page with Go: of the approximation of a pair, whose numbers have
// 32 bits in Go, of a group, whose steps amplify their rounding, and of the pairs
// that the page carries.
const (
	pairAgreement  = 1e-6
	groupAgreement = 5e-6
	exactAgreement = 1e-9
)

// opened is a page whose approximation runs in a JavaScript engine.
type opened struct {
	t    *testing.T
	data page.Data
	call goja.Callable
	// atLeast returns the least slowdown of the first of a group, by its pairs.
	atLeast goja.Callable
}

// openPage runs the script of the page that approximates on the data of a store.
func openPage(t *testing.T, profiles []*v1alpha1.ApplicationProfile, apps []*predictor.Application) opened {
	t.Helper()
	data, err := page.NewData(page.Content{Applications: profiles, Predictors: apps})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../report/page/fast.js")
	if err != nil {
		t.Fatal(err)
	}
	vm := newMachine(t)
	if err := vm.Set("text", string(text)); err != nil {
		t.Fatal(err)
	}
	value, err := vm.RunString(string(source) + `
		const { applications, memories, pairs } = JSON.parse(text);
		const approximation = bandmateFast({ application: (i) => applications[i], memories, pairs });
		var atLeast = ([target, ...others]) => approximation.atLeast(target, others);
		(chosen) => [...approximation.group(chosen), ...(chosen.length === 2 ? [approximation.pair(chosen[0], chosen[1])] : [])];`)
	if err != nil {
		t.Fatal(err)
	}
	call, ok := goja.AssertFunction(value)
	if !ok {
		t.Fatal("the script defines nothing to ask")
	}
	atLeast, ok := goja.AssertFunction(vm.Get("atLeast"))
	if !ok {
		t.Fatal("the script defines no lower bound to ask for")
	}
	own := func(function goja.Callable) goja.Callable {
		return func(this goja.Value, args ...goja.Value) (goja.Value, error) {
			return function(this, vm.ToValue(args[0].Export()))
		}
	}
	return opened{t, data, own(call), own(atLeast)}
}

// group returns the slowdowns of a group, and of a pair also that of the matrix.
func (o opened) group(chosen []int) (slowdowns []float64) {
	o.t.Helper()
	result, err := o.call(goja.Undefined(), goja.New().ToValue(chosen))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, v := range result.Export().([]any) {
		switch v := v.(type) {
		case float64:
			slowdowns = append(slowdowns, v)
		case int64:
			slowdowns = append(slowdowns, float64(v))
		default:
			o.t.Fatalf("the page answers %v", v)
		}
	}
	return slowdowns
}

// compiled compiles profiles as `bandmate predict` does, and those without curves,
// too.
func compiled(t *testing.T, profiles []*v1alpha1.ApplicationProfile) []*predictor.Application {
	t.Helper()
	known := advisor.New(profiles, []*v1alpha1.MachineProfile{MakeMachine()})
	apps := make([]*predictor.Application, len(profiles))
	for i, p := range profiles {
		apps[i] = known.Lookup(p.Name, p.Spec.Machine.Name).Application
		if apps[i] != nil {
			continue
		}
		var err error
		if apps[i], err = predictor.Compile(p); err != nil {
			t.Fatal(err)
		}
	}
	return apps
}

// stores are random profiles: with curves only, with a model of the memory, and
// with communication.
func stores(each func(profiles []*v1alpha1.ApplicationProfile, random *rand.Rand)) {
	each(makeProfiles(24, 7), rand.New(rand.NewPCG(1, 2)))
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 3))
		each(MakeMeasured(4+random.IntN(17), seed), random)
		each(MakeCommunicating(4+random.IntN(17), seed), random)
	}
}

// TestApproximationInThePage holds fast.js to package fast.
func TestApproximationInThePage(t *testing.T) {
	byDelay, byTraffic, slowed := 0, 0, 0
	stores(func(profiles []*v1alpha1.ApplicationProfile, random *rand.Rand) {
		apps := compiled(t, profiles)
		o := openPage(t, profiles, apps)
		pairs := fast.NewPairs(apps)
		for range 60 {
			chosen := make([]int, []int{2, 2, 2, 3, 4, 8}[random.IntN(6)])
			models := make([]*fast.Model, len(chosen))
			shared := 0
			for i := range chosen {
				chosen[i] = random.IntN(len(apps))
				models[i] = fast.New(apps[chosen[i]])
				if models[i].Tables().Memory != nil {
					shared++
				}
			}
			want, agreement := fast.Group(nil, models), groupAgreement
			if len(chosen) == 2 {
				agreement = pairAgreement
				want = append(want, pairs.Row(nil, chosen[0])[chosen[1]])
			}
			got := o.group(chosen)
			for i, p := range want {
				if s := float64(p.Slowdown()); math.Abs(got[i]-s) > agreement*s {
					t.Errorf("%v: number %d is %v in the page, %v in Go", chosen, i, got[i], s)
				}
				if p < 0.8 {
					slowed++
				}
			}
			if shared == len(chosen) {
				byDelay++
			} else {
				byTraffic++
			}
		}
	})
	if min(byDelay, byTraffic, slowed) < 50 {
		t.Errorf("the stores say little: %d groups by delay, %d by traffic, %d slowed down", byDelay, byTraffic, slowed)
	}
}

// TestPairsInThePage holds the pairs that the page carries to the predictor.
func TestPairsInThePage(t *testing.T) {
	counts := map[predictor.Basis]int{}
	extrapolated, network, refused := 0, 0, 0
	near := func(got float64, want units.Slowdown) bool {
		return math.Abs(got-float64(want)) <= exactAgreement*float64(want)
	}
	stores(func(profiles []*v1alpha1.ApplicationProfile, _ *rand.Rand) {
		apps := compiled(t, profiles)
		data := openPage(t, profiles, apps).data
		for i, target := range apps {
			for j, corunner := range apps {
				got := append(append(page.Pair{}, data.Pairs[i][j]...), 0, 0, 0, 0, 0, 0)
				want, err := predictor.Predict(target, []*predictor.Application{corunner}, predictor.Options{})
				if err != nil {
					refused++
					if data.Pairs[i][j] != nil {
						t.Errorf("%s beside %s: the page has %v where the predictor refuses: %v", target.Name(), corunner.Name(), got, err)
					}
					continue
				}
				counts[want.Basis]++
				if want.Extrapolated > 0 {
					extrapolated++
				}
				var memory units.Slowdown
				if want.Parts != nil {
					network++
					memory = units.Slowdown(want.Parts.MemorySlowdown)
				}
				if !near(got[0], want.Slowdown) || !near(got[1], want.Interval.Low) || !near(got[2], want.Interval.High) ||
					(got[3] == 1) != (want.Basis == predictor.MemoryModel) || got[4] != float64(want.Extrapolated) || !near(got[5], memory) {
					t.Errorf("%s beside %s: %v in the page, %+v by the predictor", target.Name(), corunner.Name(), got, want)
				}
			}
		}
	})
	if min(counts[predictor.MemoryModel], counts[predictor.Curves], network, refused) < 100 || extrapolated < 10 {
		t.Errorf("the stores say little: %v, %d extrapolated, %d with a network, %d refused", counts, extrapolated, network, refused)
	}
}

// newMachine returns a machine for JavaScript that has the atob of browsers.
func newMachine(t testing.TB) *goja.Runtime {
	t.Helper()
	vm := goja.New()
	err := vm.Set("atob", func(s string) string {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			panic(vm.ToValue(err.Error()))
		}
		letters := make([]rune, len(b))
		for i, each := range b {
			letters[i] = rune(each)
		}
		return string(letters)
	})
	if err != nil {
		t.Fatal(err)
	}
	return vm
}
