package cache

import (
	"math"
	"os"
	"reflect"
	"testing"

	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/internal/table"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// readSources reads the simulated platform with a shared cache of 1 MiB.
func readSources(t *testing.T) (sources []Source) {
	t.Helper()
	index := map[string]int{}
	each := func(name string, row func(r *table.Table, number func(column string) units.Bandwidth)) {
		f, err := os.Open("../testdata/simulated/llc-ddr4x2/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = table.Each(f, name, nil, func(r *table.Table) {
			row(r, func(column string) units.Bandwidth { return units.Bandwidth(r.NotNegative(column)) })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each("apps.csv", func(r *table.Table, number func(string) units.Bandwidth) {
		index[r.Text("app")] = len(sources)
		sources = append(sources, Source{Alone: units.Traffic{Read: number("local_read_Bps"), Write: number("local_write_Bps")}})
	})
	add := func(r *table.Table, p Point) {
		s := &sources[index[r.Text("app")]]
		s.Points = append(s.Points, p)
	}
	each("curves.csv", func(r *table.Table, number func(string) units.Bandwidth) {
		p := Point{
			ReadShare: units.ReadShare(number("read_pct") / 100), Solo: number("interferer_solo_read_Bps") + number("interferer_solo_write_Bps"),
			Achieved:    number("interferer_corun_read_Bps") + number("interferer_corun_write_Bps"),
			Performance: units.NormalizedPerformance(number("norm_perf")), Interferers: 1,
		}
		p.Total = p.Achieved + number("app_read_Bps") + number("app_write_Bps")
		add(r, p)
	})
	each("curves_random.csv", func(r *table.Table, number func(string) units.Bandwidth) {
		add(r, Point{
			Footprint: float64(number("footprint_bytes")), ReadShare: units.ReadShare(number("read_pct") / 100),
			Solo: number("interferer_solo_llc_Bps"), Achieved: number("interferer_corun_llc_Bps"),
			Total:       number("interferer_corun_read_Bps") + number("interferer_corun_write_Bps") + number("app_read_Bps") + number("app_write_Bps"),
			Performance: units.NormalizedPerformance(number("norm_perf")),
		})
	})
	return sources
}

// The policy of a cache is found from what applications lose beside the interferers, as the
// model itself says for a cache of that policy.
func TestPolicyIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("fits a model for each policy")
	}
	sources := readSources(t)
	const size = 1 << 20
	fitted, mem, err := Fit(sources, size)
	if err != nil {
		t.Fatal(err)
	}
	if fitted.policy != LeastRecent {
		t.Errorf("least recent is taken for %s", fitted.policy.Name)
	}
	applications := make([]*Application, len(sources))
	several := 0
	for i := range sources {
		described, _ := fitted.FitApplication(mem, sources[i])
		applications[i] = described[0]
		if len(described) > 1 {
			several++
		}
		if len(described) > MostAlternatives {
			t.Errorf("%d descriptions of application %d", len(described), i)
		}
		for j, a := range described[1:] {
			if reflect.DeepEqual(a, described[j]) {
				t.Errorf("two descriptions of application %d are the same: %+v", i, a)
			}
		}
	}
	if several == 0 {
		t.Error("one description of every application")
	}
	stream := Application{loop: memory.NewLoop(1, 1, 0), wait: expectedWait}
	made := Source{Alone: units.Traffic{Read: 12 * units.GigabytePerSecond}}
	fitted.place(&stream, made.Alone)
	for _, point := range fitted.usable(sources[0].Points, 15) {
		made.Points = append(made.Points, fitted.settled(mem, &stream, point))
	}
	if described, _ := fitted.FitApplication(mem, made); len(described[0].reuse.Sets) > 0 {
		t.Errorf("a stream is taken to use %+v again", described[0].reuse.Sets)
	}
	for _, p := range []Policy{Random, ReReference} {
		of := *fitted
		of.policy = p
		made := make([]Source, len(sources))
		parallel.Each(len(sources), func(i int) {
			a := *applications[i]
			of.place(&a, sources[i].Alone)
			made[i].Alone = sources[i].Alone
			for _, point := range of.usable(sources[i].Points, 15) {
				made[i].Points = append(made[i].Points, of.settled(mem, &a, point))
			}
		})
		again, _, err := Fit(made, size)
		if err != nil {
			t.Fatal(err)
		}
		if again.policy != p {
			t.Errorf("%s is taken for %s", p.Name, again.policy.Name)
		}
	}
}

// settled returns a point as the model says that it is measured.
func (m *Model) settled(mem *memory.Model, a *Application, p Point) Point {
	p.Performance, p.Achieved = 1, p.Solo
	for step := range 300 {
		says := m.at(mem, a, &p)
		part := math.Exp2(-1 - float64(step)/60)
		p.Performance *= units.NormalizedPerformance(math.Pow(says.performance/float64(p.Performance), part))
		p.Achieved *= units.Bandwidth(math.Pow(says.achieved/float64(p.Achieved), part))
		p.Total = units.Bandwidth(says.total)
	}
	return p
}
