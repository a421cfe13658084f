package fast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// platforms are the simulated ones that are committed.
var platforms = []string{"ddr3x4", "ddr4x2", "ddr4x2cxl", "ddr4x4link", "ddr5x4"}

// applications compiles those of a simulated platform from three read shares and
// four levels: as co-runners alone, in both roles, or calibrated to a model of the
// memory.
func applications(t testing.TB, platform, rest string) []*predictor.Application {
	t.Helper()
	d, err := evaluation.Read(os.DirFS("../testdata/simulated/" + platform))
	if err != nil {
		t.Fatal(err)
	}
	var apps []*predictor.Application
	for _, a := range d.Apps {
		profile := a.Profile(evaluation.Options{
			ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
		})
		if rest == byCurves {
			profile.Spec.Distance = nil
		}
		app, err := predictor.Compile(profile)
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, app)
	}
	if rest != byModel {
		return apps
	}
	c, err := predictor.Calibrate(apps, memory.LinkUnknown)
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

// distance collects how far estimates of normalized performance lie from the exact
// method, in percentage points.
type distance struct {
	sum, most float64
	n         int
}

func (d *distance) add(estimate, exact units.NormalizedPerformance) {
	off := 100 * math.Abs(float64(estimate-exact))
	d.sum, d.most, d.n = d.sum+off, max(d.most, off), d.n+1
}

func (d *distance) hold(t *testing.T, mean, most float64) {
	t.Helper()
	t.Logf("%d estimates: %.2f points off in the mean, %.2f at most", d.n, d.sum/float64(d.n), d.most)
	if d.sum/float64(d.n) > mean || d.most > most {
		t.Errorf("want %v points in the mean and %v at most", mean, most)
	}
}

// The bounds that the documentation of the package states, in percentage points of
// normalized performance.
const (
	pairMean, pairMost       = 2.5, 22
	curveMean, curveMost     = 10, 50
	distantMean, distantMost = 16, 70
	delayMean, delayMost     = 2.5, 20
	byCurves                 = "the curves"
	byDistantCurves          = "the curves in both roles"
	byModel                  = "the model of the memory"
)

func TestErrorBound(t *testing.T) {
	platforms := platforms
	if testing.Short() {
		platforms = platforms[:1] // the race detector makes fits slow
	}
	for _, platform := range platforms {
		for rest, most := range map[string][2]float64{
			byCurves: {curveMean, curveMost}, byDistantCurves: {distantMean, distantMost}, byModel: {delayMean, delayMost},
		} {
			apps := applications(t, platform, rest)
			name := fmt.Sprintf("%s by %s", platform, rest)
			t.Run(name+", pairs", func(t *testing.T) {
				pairs := fast.NewPairs(apps)
				var w predictor.Workspace
				var d distance
				for i := range apps {
					for j, estimate := range pairs.Row(nil, i) {
						d.add(estimate, w.Performances(nil, []*predictor.Application{apps[i], apps[j]})[0])
					}
				}
				d.hold(t, pairMean, pairMost)
			})
			t.Run(name+", groups", func(t *testing.T) {
				models := make([]*fast.Model, len(apps))
				for i, a := range apps {
					models[i] = fast.New(a)
				}
				random := rand.New(rand.NewPCG(1, 2))
				var w predictor.Workspace
				var d distance
				for range 400 {
					var group []*predictor.Application
					var tables []*fast.Model
					for range 2 + random.IntN(7) {
						i := random.IntN(len(apps))
						group, tables = append(group, apps[i]), append(tables, models[i])
					}
					exact := w.Performances(nil, group)
					for i, estimate := range fast.Group(nil, tables) {
						d.add(estimate, exact[i])
					}
				}
				d.hold(t, most[0], most[1])
			})
		}
	}
}
