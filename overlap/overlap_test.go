package overlap

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

const gigabyte = units.GigabytePerSecond

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Langguth et al., Table II: the 3D diffusion solver, times in ms. The printed
// times alone and under contention give the loss ratios that section V uses.
func TestTableII(t *testing.T) {
	for _, row := range []struct{ nodes, computation, computationC, communication, communicationC, total float64 }{
		{4, 124.58, 137.54, 0.86, 1.96, 124.76},
		{8, 63.72, 70.35, 0.8, 1.83, 63.89},
		{16, 32.37, 35.74, 0.56, 1.28, 32.49},
		{32, 16.21, 17.9, 0.43, 0.98, 16.3},
		{64, 7.57, 8.36, 0.33, 0.75, 7.64},
		{128, 3.48, 3.85, 0.24, 0.55, 3.54},
		{256, 1.71, 1.88, 0.2, 0.45, 1.75},
	} {
		got, err := Step{milliseconds(row.computation), milliseconds(row.communication), 1.104, 2.279}.Time()
		if err != nil {
			t.Fatal(err)
		}
		// The last digits of the inputs are rounded too.
		for _, v := range []struct {
			what      string
			got, want float64
		}{
			{"computation under contention", got.ComputationSeconds, row.computationC},
			{"communication under contention", got.CommunicationSeconds, row.communicationC},
			{"total", got.TotalSeconds, row.total},
		} {
			if !near(v.got*1e3, v.want, 0.012) {
				t.Errorf("%v nodes: %s: %.3f ms, the paper has %.2f ms", row.nodes, v.what, v.got*1e3, v.want)
			}
		}
		if got.LimitedBy != Computation {
			t.Errorf("%v nodes: limited by %s", row.nodes, got.LimitedBy)
		}
	}
}

// Langguth et al., section VI: Cartesius, 32 nodes; 60 Gflop/s a node, 50 of
// them on accelerators.
func TestHeterogeneousExample(t *testing.T) {
	full := Step{milliseconds(1), milliseconds(0.5), 1.72, 2.2}
	got, err := full.Time()
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.CommunicationSeconds*1e3, 1.1, 0.005) || !near(got.TotalSeconds*1e3, 1.46, 0.005) {
		t.Errorf("%+v, the paper has 1.1 and 1.46 ms", got)
	}
	if perNode := 60 / (got.TotalSeconds * 1e3); !near(perNode, 41.1, 0.1) || !near(32*perNode, 1315, 3) {
		t.Errorf("%.1f Gflop/s a node, %.0f on 32; the paper has 41.1 and 1315", perNode, 32*perNode)
	}
	half := full
	half.Computation /= 2
	if got, err = half.Time(); err != nil || !near(got.TotalSeconds*1e3, 0.97, 0.005) || got.LimitedBy != Communication {
		t.Errorf("half the load: %+v, %v; the paper has 0.97 ms", got, err)
	}
	// All work takes the processors 6 ms, the accelerators 1.2 ms; 91.7% of it
	// on the accelerators is half the load. The paper prints 1741, which is 60
	// ÷ 1.103 ms; a time 10% longer, as its text has it, gives 1745.
	split, err := Heterogeneous{Step{milliseconds(6), milliseconds(0.5), 1.72, 2.2}, milliseconds(1.2)}.At(11.0 / 12)
	if err != nil || !near(split.Processors.TotalSeconds*1e3, 0.97, 0.005) || !near(32*60/(split.TotalSeconds*1e3), 1741, 5) {
		t.Errorf("%+v, %v", split, err)
	}
}

// Best is no worse than any share on a grid.
func TestBestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := func(name string, low float64) time.Duration {
			return milliseconds(rapid.Float64Range(low, 100).Draw(t, name))
		}
		loss := func(name string) float64 { return rapid.Float64Range(1, 5).Draw(t, name) }
		h := Heterogeneous{Step{ms("computation", 0), ms("communication", 0), loss("computation loss"), loss("communication loss")}, ms("accelerator", 0.1)}
		best, err := h.Best()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 101 {
			other, err := h.At(float64(i) / 100)
			if err != nil {
				t.Fatal(err)
			}
			if other.TotalSeconds < best.TotalSeconds*(1-1e-9) {
				t.Fatalf("%+v: best %+v, but %+v", h, best, other)
			}
		}
	})
}

func TestStepRefused(t *testing.T) {
	for _, test := range []struct {
		h    Heterogeneous
		want int
	}{
		{Heterogeneous{Step{-1, -1, 0.5, math.NaN()}, 0}, 5},
		{Heterogeneous{Step{maxTime + 1, 0, math.Inf(1), 1}, -1}, 3},
	} {
		_, err := test.h.Best()
		if err == nil || strings.Count(err.Error(), "\n") != test.want-1 {
			t.Errorf("%+v: %v, want %d faults", test.h, err, test.want)
		}
	}
	if _, err := (Heterogeneous{Step{0, 0, 1, 1}, 1}).At(1.5); err == nil {
		t.Error("a share of 1.5 is taken")
	}
}

// henri is like the first platform of Denis et al.: 17 computing cores.
var henri = Instance{
	CommunicationAlone: 11 * gigabyte, LeastCommunicationShare: 0.3,
	ComputationPerCore: 5 * gigabyte, ComputationAlone: 60 * gigabyte, ComputationAloneCores: 14,
	Total: 65 * gigabyte, TotalCores: 11, TotalAtComputationAloneCores: 62 * gigabyte,
	LossBefore: 1 * gigabyte, LossAfter: 0.5 * gigabyte,
}

// By hand: 11 cores want 55 and communication gets the 10 that are left of 65;
// with 13 the bus is full, R = 68.3 ≥ 63, and communication is between its
// share at 12 cores, 4/11, and 0.3 at 14; beyond it keeps 0.3.
func TestTogetherByHand(t *testing.T) {
	for _, test := range []struct {
		cores                      int
		computation, communication float64
	}{
		{0, 0, 11},
		{1, 5, 11},
		{10, 50, 11},
		{11, 55, 10},
		{12, 60, 4},
		{13, 63 - (4+3.3)/2, (4 + 3.3) / 2},
		{14, 62 - 3.3, 3.3},
		{16, 61 - 3.3, 3.3},
	} {
		computation, communication := henri.Together(test.cores)
		if !near(computation.GBps(), test.computation, 1e-9) || !near(communication.GBps(), test.communication, 1e-9) {
			t.Errorf("%d cores: %v and %v, want %v and %v", test.cores, computation.GBps(), communication.GBps(), test.computation, test.communication)
		}
	}
	for cores, want := range map[int]float64{1: 5, 11: 55, 12: 60, 14: 60, 17: 60} {
		if got := henri.Alone(cores); !near(got.GBps(), want, 1e-9) {
			t.Errorf("%d cores alone: %v, want %v", cores, got.GBps(), want)
		}
	}
}

// Equations 6 and 7, each combination of a machine with two nodes a socket.
func TestPlacements(t *testing.T) {
	remote := henri
	remote.CommunicationAlone, remote.ComputationPerCore = 9*gigabyte, 3*gigabyte
	p := Parameters{NodesPerSocket: 2, Local: henri, Remote: &remote}
	localWithRemoteLink := henri
	localWithRemoteLink.CommunicationAlone = remote.CommunicationAlone
	const n = 14
	comp := func(b, _ units.Bandwidth) units.Bandwidth { return b }
	comm := func(_, b units.Bandwidth) units.Bandwidth { return b }
	for computation := range 4 {
		for communication := range 4 {
			want := Bandwidths{henri.Alone(n), comm(henri.Together(n))}
			switch {
			case computation == communication && computation < 2:
				want.Computation = comp(henri.Together(n))
			case computation == communication:
				want = Bandwidths{comp(remote.Together(n)), comm(remote.Together(n))}
			case communication >= 2:
				want.Communication = comm(localWithRemoteLink.Together(n))
			}
			if computation >= 2 && computation != communication {
				want.Computation = remote.Alone(n)
			}
			got, err := p.Together(n, Placement{computation, communication})
			if err != nil || got != want {
				t.Errorf("nodes %d and %d: %+v, %v, want %+v", computation, communication, got, err, want)
			}
		}
	}
	p.Remote = nil
	if _, err := p.Together(n, Placement{0, 2}); !errors.Is(err, ErrPlacement) {
		t.Error(err)
	}
}

// synthetic makes the sweep of a machine that follows the model, every
// bandwidth off by a relative standard deviation.
func synthetic(p Parameters, cores, nodes int, noise float64, seed uint64) Sweep {
	draw := rand.New(rand.NewPCG(seed, 1))
	off := func(b units.Bandwidth) units.Bandwidth {
		return b * units.Bandwidth(math.Exp(noise*draw.NormFloat64()))
	}
	var s Sweep
	for computation := range nodes {
		for communication := range nodes {
			at := Placement{computation, communication}
			for n := 1; n <= cores; n++ {
				together, err := p.Together(n, at)
				if err != nil {
					panic(err)
				}
				alone, err := p.Alone(n, at)
				if err != nil {
					panic(err)
				}
				s = append(s, Point{
					Placement: at, Cores: n,
					Alone:    Bandwidths{off(alone.Computation), off(alone.Communication)},
					Together: Bandwidths{off(together.Computation), off(together.Communication)},
				})
			}
		}
	}
	return s
}

// drawInstance draws a machine whose sweep shows every parameter: computation
// alone reaches its most before the last core, and communication never takes
// the whole bus, which would make a sweep with zeros.
func drawInstance(t *rapid.T, cores int) Instance {
	m := Instance{
		ComputationPerCore:      units.Bandwidth(rapid.Float64Range(2, 12).Draw(t, "per core")) * gigabyte,
		LeastCommunicationShare: rapid.Float64Range(0.1, 0.9).Draw(t, "least share"),
	}
	m.CommunicationAlone = m.ComputationPerCore * units.Bandwidth(rapid.Float64Range(0.5, 2).Draw(t, "communication"))
	full := rapid.IntRange(3, cores-2).Draw(t, "full")
	m.ComputationAloneCores = full + 1
	m.ComputationAlone = m.ComputationPerCore * (units.Bandwidth(full) + units.Bandwidth(rapid.Float64Range(0.2, 0.8).Draw(t, "more")))
	m.TotalCores = rapid.IntRange(max(1, full-2), full+1).Draw(t, "total cores")
	m.TotalAtComputationAloneCores = m.ComputationAlone * units.Bandwidth(rapid.Float64Range(1.001, 1.1).Draw(t, "at alone"))
	m.Total = m.TotalAtComputationAloneCores
	if n := m.ComputationAloneCores - m.TotalCores; n > 0 {
		m.LossBefore = m.Total * units.Bandwidth(rapid.Float64Range(0.001, 0.02).Draw(t, "loss before"))
		m.Total += m.LossBefore * units.Bandwidth(n)
	}
	m.LossAfter = m.Total * units.Bandwidth(rapid.Float64Range(0, min(0.01, 0.2/float64(cores-m.ComputationAloneCores))).Draw(t, "loss after"))
	return m
}

// On sweeps that follow the model the fit is within 0.1%, but for one machine in
// some thousands, which ends in a near minimum. Nothing of the kind
// holds for the other placements: a sweep in which the cores ask for less than
// the bus bears shows neither from which core on it bears less nor the least
// share of communication.
func TestFitWithoutNoise(t *testing.T) {
	sum, n := 0.0, 0
	rapid.Check(t, func(t *rapid.T) {
		cores := rapid.IntRange(6, 40).Draw(t, "cores")
		local, remote := drawInstance(t, cores), drawInstance(t, cores)
		p := Parameters{NodesPerSocket: 1, Local: local, Remote: &remote}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		s := synthetic(p, cores, 2, 0, 0)
		fitted, err := Fit(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(fitted, s)
		if err != nil {
			t.Fatal(err)
		}
		samples := (e.Samples.Computation + e.Samples.Communication) / 2
		sum, n = sum+samples, n+1
		if samples > 0.5 {
			t.Fatalf("%v:\n%+v\nfitted\n%+v", e, p.Local, fitted.Local)
		}
	})
	if mean := sum / float64(n); mean > 0.01 {
		t.Errorf("mean absolute percentage error of %.4f%% over %d machines", mean, n)
	}
}

// With noise the fit stays within it, and is no worse than reading extremes.
func TestFitWithNoise(t *testing.T) {
	p := Parameters{NodesPerSocket: 1, Local: henri}
	truth := synthetic(p, 17, 1, 0, 0)
	var fitted, reading float64
	const repeats = 20
	for seed := range uint64(repeats) {
		noisy := synthetic(p, 17, 1, 0.02, seed)
		f, err := Fit(noisy, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(f, truth)
		if err != nil {
			t.Fatal(err)
		}
		fitted += e.Average / repeats
		e, err = Evaluate(Parameters{NodesPerSocket: 1, Local: read(noisy)}, truth)
		if err != nil {
			t.Fatal(err)
		}
		reading += e.Average / repeats
	}
	t.Logf("2%% noise: fitted %.2f%% off the truth, read off extremes %.2f%%", fitted, reading)
	if fitted > 2 || fitted > reading {
		t.Errorf("fitted %.2f%% off the truth, read off extremes %.2f%%", fitted, reading)
	}
}

// Rows may stand in any order, and bandwidths may fall and rise again.
func TestFitIgnoresOrder(t *testing.T) {
	s := synthetic(Parameters{NodesPerSocket: 1, Local: henri}, 17, 1, 0.05, 9)
	want, err := Fit(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	shuffled := slices.Clone(s)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	got, err := Fit(shuffled, 1)
	if err != nil || got != want {
		t.Errorf("%+v, %v, in order %+v", got, err, want)
	}
}

// sweepText has its columns in another order than usual, and one more.
const sweepText = `communicationBytesPerSecond,cores,note,computationNode,communicationNode,computationAloneBytesPerSecond,communicationAloneBytesPerSecond,computationBytesPerSecond
4.5,1,"a, b",1,0,1,2,3
8,2,,1,0,5.25,6e9,7
`

func TestReadSweep(t *testing.T) {
	got, err := ReadSweep(strings.NewReader(sweepText), "s.csv")
	at := Placement{ComputationNode: 1}
	want := Sweep{
		{Placement: at, Cores: 1, Alone: Bandwidths{1, 2}, Together: Bandwidths{3, 4.5}},
		{Placement: at, Cores: 2, Alone: Bandwidths{5.25, 6e9}, Together: Bandwidths{7, 8}},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestSweepRefused(t *testing.T) {
	const header = "cores,computationNode,communicationNode,computationAloneBytesPerSecond,communicationAloneBytesPerSecond,computationBytesPerSecond,communicationBytesPerSecond\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "s.csv:1:1: empty: want a header line"},
		{"header alone", header, "no rows"},
		{"no column", "cores,computationNode\n1,0\n", `s.csv:1:1: no column "communicationNode"`},
		{"no number", header + "one,0,0,1,1,1,1\n", `s.csv:2:1: cores: "one" is not a whole number`},
		{"no bandwidth", header + "1,0,0,1,,1,1\n", `s.csv:2:9: communicationAloneBytesPerSecond: "" is not a number`},
		{"zero", header + "1,0,0,1,1,0,1\n", "s.csv:2:11: computationBytesPerSecond: 0: want a number above 0"},
		{"infinite", header + "1,0,0,1,1,Inf,1\n", `computationBytesPerSecond: "Inf" is not a number`},
		{"not a number", header + "1,0,0,1,1,NaN,1\n", `computationBytesPerSecond: "NaN" is not a number`},
		{"missing", header + "1,0,0,1,1,1,1\n3,0,0,1,1,1,1\n", "2 cores at computation node 0, communication node 0 are missing"},
		{"twice", header + "1,0,0,1,1,1,1\n1,0,0,1,1,1,1\n", "occur twice"},
		{"negative node", header + "1,-1,0,1,1,1,1\n", "s.csv:2:3: computationNode: -1: want 0 to"},
		{"short row", header + "1,0\n", "wrong number of fields"},
		{"no parts", "partsPerCore," + header + "0,1,0,0,1,1,1,1\n", "s.csv:2:1: partsPerCore: 0: want 1 to"},
		{"mixed parts", "partsPerCore," + header + "1,1,0,0,1,1,1,1\n8,2,0,0,1,1,1,1\n", "row 2: 8 parts per core, and 1 in row 1"},
	} {
		if _, err := ReadSweep(strings.NewReader(test.text), "s.csv"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	points := synthetic(Parameters{NodesPerSocket: 1, Local: henri}, 5, 1, 0, 0)
	for name, try := range map[string]func() error{
		"no node per socket": func() error { _, err := Fit(points, 0); return err },
		"one core":           func() error { _, err := Fit(points[:1], 1); return err },
		"not local": func() error {
			remote := points[0]
			remote.ComputationNode = 1
			_, err := Fit(Sweep{remote}, 1)
			return err
		},
	} {
		if try() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestInstanceContradicts(t *testing.T) {
	m := henri
	m.TotalAtComputationAloneCores = 50 * gigabyte
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "contradicts") {
		t.Error(err)
	}
	if err := (Parameters{}).Validate(); err == nil || strings.Count(err.Error(), "\n") < 6 {
		t.Errorf("%v: want every fault", err)
	}
}

// A sweep that breaks every shape is fitted without a crash.
func TestFitOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sweep
		for n := range rapid.IntRange(2, 8).Draw(t, "cores") {
			b := func(name string) units.Bandwidth {
				return units.Bandwidth(rapid.Float64Range(1e6, 1e11).Draw(t, name))
			}
			s = append(s, Point{Cores: n + 1, Alone: Bandwidths{b("a"), b("b")}, Together: Bandwidths{b("c"), b("d")}})
		}
		p, err := Fit(s, 1)
		if err != nil {
			return
		}
		if !(p.Local.LeastCommunicationShare > 0) {
			t.Fatalf("communication gets nothing: %+v", p.Local)
		}
		for n := range 20 {
			got, err := p.Together(n, Placement{})
			if err != nil || !(got.Computation >= 0) || !(got.Communication >= 0) || !got.Total().Valid() {
				t.Fatalf("%d cores: %+v, %v from %+v", n, got, err, p.Local)
			}
		}
	})
}

func FuzzReadSweep(f *testing.F) {
	f.Add([]byte(sweepText))
	f.Add([]byte(strings.ReplaceAll(sweepText, ",1,0,", ",0,0,")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSweep(bytes.NewReader(data), "s.csv")
		if err != nil || len(s) > 10 {
			return
		}
		_, _ = Fit(s, 1)
	})
}
