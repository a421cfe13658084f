package predictor_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	models "bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// calibratedPlatform compiles the applications of a simulated platform, calibrated to a
// model of its memory.
func calibratedPlatform(t *testing.T, name string) []*predictor.Application {
	t.Helper()
	d, err := evaluation.Read(os.DirFS("testdata/simulated/" + name))
	if err != nil {
		t.Fatal(err)
	}
	var apps []*predictor.Application
	for _, a := range d.Apps {
		app, err := predictor.Compile(a.Profile(evaluation.Options{Levels: []float64{0.25, 0.5, 0.75, 1}}))
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, app)
	}
	c, err := predictor.Calibrate(apps, models.LinkUnknown)
	if err != nil {
		t.Fatal(err)
	}
	for i := range apps {
		if apps[i], err = c.Apply(apps[i]); err != nil {
			t.Fatal(err)
		}
	}
	return apps
}

// helps is by how much noise in the curves may have pressure help, in normalized
// performance: corrections by the curves differ between read shares.
const helps = 0.005

// What is known for certain holds for every prediction: another co-runner never helps,
// nor does a stronger one.
func TestPressureNeverHelps(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	for _, platform := range []string{"ddr3x4", "ddr4x2", "ddr4x2cxl", "ddr4x4link", "ddr5x4"} {
		t.Run(platform, func(t *testing.T) {
			apps := calibratedPlatform(t, platform)
			random := rand.New(rand.NewPCG(1, 2))
			var w predictor.Workspace
			for range 100 {
				target := apps[random.IntN(len(apps))]
				group := []*predictor.Application{target}
				last := units.NormalizedPerformance(1)
				for range 5 {
					group = append(group, apps[random.IntN(len(apps))])
					p := w.Performances(nil, group)[0]
					if p > last+helps {
						t.Errorf("%s: %.4f beside %d, %.4f with %s", target.Name(), last, len(group)-2, p, group[len(group)-1].Name())
					}
					last = p
				}
				share := units.ReadShare(0.5 + random.Float64()/2)
				last = 1
				for total := units.Bandwidth(2e9); total < 60e9; total += 4e9 {
					steady, err := predictor.Assumed("steady", units.TrafficOf(total, share))
					if err != nil {
						t.Fatal(err)
					}
					p := w.Performances(nil, []*predictor.Application{target, steady})[0]
					if p > last+helps {
						t.Errorf("%s: %.4f, %.4f beside %v at %v reads", target.Name(), last, p, total, share)
					}
					last = p
				}
			}
		})
	}
}
