package memory

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

const gb = units.GigabytePerSecond

// truth is a memory that curves can be made from.
func truth() *Model {
	return &Model{
		unit: 20 * gb, slowness: line{{0.5, 0.5}, {1, 0.45}}, bend: 0.3,
		linear: 0.7, queue: 0.1, writeQueue: 0.7,
		interferer: interferer{inFlight: 4, overlap: 3, sustained: line{{0.5, 0.9}, {1, 1}}},
	}
}

// sourceOf makes the curves that an application with this loop would have.
func sourceOf(m *Model, l Loop, alone units.Traffic, levels ...float64) Source {
	s := Source{Phases: []Phase{{1, alone}}}
	r := m.newRun(s)
	r.loop = l
	r.place(m)
	for _, share := range []float64{0.5, 0.75, 1} {
		for _, level := range levels {
			solo := level * m.interferer.sustained.at(share)
			p, g := m.beside(&r, sample{share: share, solo: solo, interferers: 1})
			s.Points = append(s.Points, Point{
				ReadShare: units.ReadShare(share), Solo: units.Bandwidth(solo) * m.unit,
				Achieved: units.Bandwidth(g) * m.unit, Performance: units.NormalizedPerformance(p),
			})
		}
	}
	return s
}

// sources are four applications from light to heavy.
func sources(m *Model) ([]Source, []Loop) {
	levels := []float64{0.25, 0.5, 0.75, 1}
	loops := []Loop{{0.4, 1, 0}, {2, 1, 0}, {3, 2, 0.05}, {6, 1, 0}}
	var all []Source
	for i, gbps := range []float64{2, 8, 20, 30} {
		all = append(all, sourceOf(m, loops[i], units.TrafficOf(units.Bandwidth(gbps)*gb, 0.8), levels...))
	}
	return all, loops
}

// A model fitted to curves of four applications says what the memory that made
// them does to all four at once, which none of the curves shows.
func TestFitFindsWhatGroupsDo(t *testing.T) {
	made := truth()
	all, loops := sources(made)
	fitted, err := Fit(all, LinkNone)
	if err != nil {
		t.Fatal(err)
	}
	var want, got [4]units.NormalizedPerformance
	var truly, fit []Member
	for i, s := range all {
		truly = append(truly, made.Place(s.Phases, units.Traffic{}, loops[i]).Home[0])
		loop, residual := fitted.FitLoop(s)
		if residual > 0.01 {
			t.Errorf("application %d: %.3f left", i, residual)
		}
		fit = append(fit, fitted.Place(s.Phases, units.Traffic{}, loop).Home[0])
	}
	made.Solve(truly, want[:])
	fitted.Solve(fit, got[:])
	for i := range want {
		if math.Abs(float64(want[i]-got[i])) > 0.03 {
			t.Errorf("application %d of a group: %.3f, truly %.3f", i, got[i], want[i])
		}
	}
}

// Nothing may depend on the size of a machine: everything scaled, performance stays.
func TestFitScales(t *testing.T) {
	all, _ := sources(truth())
	fitted, err := Fit(all, LinkNone)
	if err != nil {
		t.Fatal(err)
	}
	const factor = 7.5
	for i := range all {
		for j := range all[i].Points {
			all[i].Points[j].Solo *= factor
			all[i].Points[j].Achieved *= factor
		}
		all[i].Phases[0].Alone = all[i].Phases[0].Alone.Scale(factor)
	}
	scaled, err := Fit(all, LinkNone)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fitted.Capacity(0.75)*factor, scaled.Capacity(0.75); math.Abs(float64(a/b-1)) > 1e-6 {
		t.Errorf("capacity %v, want %v", b, a)
	}
}

// Capacities that are fitted between the lowest read share and the highest leave the line
// bent between them.
func TestInnerCapacitiesKeepTheBend(t *testing.T) {
	all, _ := sources(besideALink(LinkOwn))
	f := newFit(all, LinkOwn, false)
	if len(f.inner) == 0 {
		t.Fatal("no read share between the lowest and the highest")
	}
	theta := make([]float64, constants)
	theta[atBend] = 0.8
	inner := f.model(theta)
	f.inner = nil
	outer := f.model(theta)
	for share := 0.5; share <= 1; share += 0.0625 {
		if got, want := inner.inverseCapacity(share), outer.inverseCapacity(share); math.Abs(got/want-1) > 2e-3 {
			t.Errorf("read share %v: %v, want %v", share, got, want)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	all, _ := sources(truth())
	few := []Source{{Phases: all[0].Phases, Points: all[0].Points[:leastPoints-1]}}
	if _, err := Fit(few, LinkNone); !errors.Is(err, ErrNotEnough) {
		t.Errorf("%d points: %v", leastPoints-1, err)
	}
	if _, err := Fit(nil, LinkNone); !errors.Is(err, ErrNotEnough) {
		t.Errorf("no sources: %v", err)
	}
	all[1].Points[2].Achieved = 0
	if _, err := Fit(all, LinkNone); err == nil || errors.Is(err, ErrNotEnough) {
		t.Errorf("nothing achieved: %v", err)
	}
	all[1].Points[2].Achieved = 1
	all[1].Phases = nil
	if _, err := Fit(all, LinkNone); err == nil || errors.Is(err, ErrNotEnough) {
		t.Errorf("no phases: %v", err)
	}
}

// drawMembers have one mix: a neighbor that reads may make that of others kinder.
func drawMembers(t *rapid.T, m *Model) []Member {
	share := units.ReadShare(rapid.Float64Range(0, 1).Draw(t, "share"))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Member {
		total := units.Bandwidth(rapid.SampledFrom([]float64{0, 1e-3, 1, 5, 20, 60}).Draw(t, "GB/s")) * gb
		loop := Loop{
			rapid.Float64Range(0.05, 1e3).Draw(t, "in flight"), rapid.SampledFrom(overlaps[:]).Draw(t, "overlap"),
			rapid.Float64Range(-0.2, 0.2).Draw(t, "extra"),
		}
		roles := m.Place([]Phase{{1, units.TrafficOf(total, share)}}, units.Traffic{}, loop)
		if rapid.Bool().Draw(t, "away") {
			return roles.Away[0]
		}
		return roles.Home[0]
	}), 1, 6).Draw(t, "members")
}

// Whoever shares a memory, everyone's performance is in range, and one more
// neighbor makes nobody faster.
func TestSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := truth()
		m.link = link{kind: rapid.SampledFrom(append(Links(), LinkUnknown)).Draw(t, "link"), way: 0.6, capacity: 1, write: 0.7, queue: 0.05}
		members := drawMembers(t, m)
		performances := make([]units.NormalizedPerformance, len(members))
		delay, excess := m.Solve(members, performances)
		if !Close(excess) {
			t.Fatalf("load off by %v", excess)
		}
		if !(delay >= 1) || math.IsInf(delay, 0) {
			t.Fatalf("delay %v", delay)
		}
		fewer := make([]units.NormalizedPerformance, len(members)-1)
		if len(fewer) > 0 {
			m.Solve(members[:len(fewer)], fewer)
		}
		for i, p := range performances {
			if !(p > 0 && p <= 1) {
				t.Fatalf("performance %v of %+v", p, members[i])
			}
			const tolerance = 1e-2 // of Solve, where members are steep
			if i < len(fewer) && p > fewer[i]+tolerance {
				t.Fatalf("member %d: %v with one more, %v without", i, p, fewer[i])
			}
		}
	})
}

func TestLoadOfIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := truth()
		load, writes := rapid.Float64Range(0, 0.99).Draw(t, "load"), rapid.Float64Range(0, 1).Draw(t, "writes")
		if got := m.loadOf(m.delayAt(load, writes), writes); math.Abs(got-load) > 1e-6 {
			t.Fatalf("%v, want %v", got, load)
		}
	})
}

func TestLine(t *testing.T) {
	l := line{{0.5, 10}, {0.75, 20}, {1, 0}}
	for _, test := range []struct{ share, want float64 }{
		{0, 10}, {0.5, 10}, {0.6, 14}, {0.75, 20}, {0.875, 10}, {1, 0}, {2, 0}, {math.NaN(), 10},
	} {
		if got := l.at(test.share); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("at %v: %v, want %v", test.share, got, test.want)
		}
	}
}
