package network

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parse(t testing.TB, text string) []Communication {
	t.Helper()
	var conflict []Communication
	for field := range strings.FieldsSeq(text) {
		c, err := ParseCommunication(field)
		if err != nil {
			t.Fatal(err)
		}
		conflict = append(conflict, c)
	}
	return conflict
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// Figure 4: 4 MB messages; times in seconds to the printed digits.
func TestFigure4(t *testing.T) {
	const alone = 0.0475
	conflict := parse(t, "a:0-1 b:0-2 c:0-3 d:4-2 e:4-3 f:5-3")
	penalties, err := PaperGigabitEthernet().Penalties(conflict)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.095, 0.095, 0.113, 0.069, 0.103, 0.103} {
		if got := penalties[i] * alone; !near(got, want, 0.0005) {
			t.Errorf("%s: %.4f s, the paper predicts %.3f s", conflict[i], got, want)
		}
	}
}

// Figures 5 and 6.
func TestFigure6(t *testing.T) {
	conflict := parse(t, "a:0-1 b:0-2 c:0-3 d:4-1 e:5-1 f:4-6")
	sets, sending, err := SendSets(conflict)
	if err != nil {
		t.Fatal(err)
	}
	if sets != 5 {
		t.Errorf("%d sets, the paper has 5", sets)
	}
	penalties, err := Myrinet{}.Penalties(conflict)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		sum     int
		penalty float64
	}{{1, 5}, {2, 5}, {2, 5}, {2, 2.5}, {2, 2.5}, {3, 2.5}} {
		if sending[i] != want.sum || penalties[i] != want.penalty {
			t.Errorf("%s: sum %d, penalty %v; the paper has %d, %v", conflict[i], sending[i], penalties[i], want.sum, want.penalty)
		}
	}
}

// Figure 2, what the models say beside what was measured. The tolerances are
// those of the models, not of the arithmetic.
func TestFigure2(t *testing.T) {
	tests := []struct {
		conflict                      string
		ethernet, myrinet, infiniband []float64
	}{
		{"a:0-1", []float64{1}, []float64{1}, []float64{1}},
		{"a:0-1 b:0-2", []float64{1.5, 1.5}, []float64{1.9, 1.9}, []float64{1.725, 1.725}},
		{"a:0-1 b:0-2 c:0-3", []float64{2.25, 2.25, 2.25}, []float64{2.8, 2.8, 2.8}, []float64{2.61, 2.61, 2.61}},
		{"a:0-1 b:0-2 c:0-3 d:4-3", nil, nil, []float64{2.61, 2.61, 2.61, 1.14}},
	}
	for _, test := range tests {
		conflict := parse(t, test.conflict)
		for _, m := range []struct {
			model     Model
			measured  []float64
			tolerance float64
		}{
			{PaperGigabitEthernet(), test.ethernet, 1e-9},
			{Myrinet{}, test.myrinet, 0.21},
			{Infiniband{}, test.infiniband, 0},
		} {
			if m.measured == nil {
				continue
			}
			got, err := m.model.Penalties(conflict)
			if err != nil {
				t.Errorf("%s: %s: %v", test.conflict, m.model.Name(), err)
				continue
			}
			for i := range got {
				if !near(got[i], m.measured[i], m.tolerance) {
					t.Errorf("%s: %s: %s has %v, measured %v", test.conflict, m.model.Name(), conflict[i].Name, got[i], m.measured[i])
				}
			}
		}
	}
}

func TestInfinibandSaysNothingElse(t *testing.T) {
	for _, text := range []string{"a:0-1 b:2-1", "a:0-1 b:0-2 c:0-3 d:0-4", "a:0-1 b:0-2 c:3-2", "a:0-1 b:0-1", "a:0-1 b:0-1 c:0-2 d:3-2"} {
		if _, err := (Infiniband{}).Penalties(parse(t, text)); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The paper derives both gammas from Figure 4 by 1 − t/(3·β·t_ref); fitting to
// the penalties that its model predicts there must return its parameters.
func TestFitRecoversThePaper(t *testing.T) {
	paper := PaperGigabitEthernet()
	var measurements []Measured
	for _, text := range []string{"a:0-1 b:0-2", "a:0-1 b:0-2 c:0-3", "a:0-1 b:0-2 c:0-3 d:4-2 e:4-3 f:5-3"} {
		conflict := parse(t, text)
		penalties, err := paper.Penalties(conflict)
		if err != nil {
			t.Fatal(err)
		}
		measurements = append(measurements, Measured{text, conflict, penalties})
	}
	for _, some := range [][]Measured{measurements, measurements[2:]} {
		f, err := FitGigabitEthernet(some)
		if err != nil {
			t.Fatal(err)
		}
		if !near(f.Model.Beta, paper.Beta, 1e-4) || !near(f.Model.GammaOut, paper.GammaOut, 1e-4) || !near(f.Model.GammaIn, paper.GammaIn, 1e-4) {
			t.Errorf("from %d conflicts: %+v", len(some), f)
		}
		if f.MeanAbsError > 0.01 || len(f.Warnings) > 0 {
			t.Errorf("from %d conflicts: %+v", len(some), f)
		}
	}
	f, err := FitGigabitEthernet(measurements[:2])
	if err != nil || len(f.Warnings) != 2 || !near(f.Model.Beta, 0.75, 1e-9) || f.Conflicts != 2 {
		t.Errorf("from simple conflicts: %+v, %v", f, err)
	}
}

func drawConflict(t *rapid.T, most, nodes int) []Communication {
	conflict := make([]Communication, rapid.IntRange(1, most).Draw(t, "communications"))
	for i := range conflict {
		from := rapid.IntRange(0, nodes-1).Draw(t, "from")
		to := (from + rapid.IntRange(1, nodes-1).Draw(t, "distance")) % nodes
		conflict[i] = Communication{string(rune('a' + i)), from, to}
	}
	return conflict
}

// The enumeration against every subset.
func TestSendSetsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conflict := drawConflict(t, 9, 5)
		together := func(set int) bool {
			from, to := make(map[int]bool), make(map[int]bool)
			for i, c := range conflict {
				if set>>i&1 == 1 {
					if from[c.From] || to[c.To] {
						return false
					}
					from[c.From], to[c.To] = true, true
				}
			}
			return true
		}
		wantSets, wantSending := 0, make([]int, len(conflict))
		for set := range 1 << len(conflict) {
			maximal := together(set)
			for i := range conflict {
				maximal = maximal && (set>>i&1 == 1 || !together(set|1<<i))
			}
			if !maximal {
				continue
			}
			wantSets++
			for i := range conflict {
				wantSending[i] += set >> i & 1
			}
		}
		sets, sending, err := SendSets(conflict)
		if err != nil {
			t.Fatal(err)
		}
		if sets != wantSets {
			t.Fatalf("%d sets, want %d", sets, wantSets)
		}
		for i := range sending {
			if sending[i] != wantSending[i] {
				t.Fatalf("%s sends in %d, want %d", conflict[i], sending[i], wantSending[i])
			}
		}
	})
}

// Enumerating the parts of a conflict apart changes no penalty.
func TestMyrinetPartsCancel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conflict := drawConflict(t, 10, 8)
		penalties, err := Myrinet{}.Penalties(conflict)
		if err != nil {
			t.Fatal(err)
		}
		sets, sending, err := SendSets(conflict)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range conflict {
			slowest := sets
			for j, other := range conflict {
				if other.From == c.From {
					slowest = min(slowest, sending[j])
				}
			}
			if want := float64(sets) / float64(slowest); !near(penalties[i], want, 1e-9*want) {
				t.Fatalf("%s: %v, all at once %v", c, penalties[i], want)
			}
		}
	})
}

func TestModelsDoNotDependOnNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conflict := drawConflict(t, 8, 6)
		number := rapid.Permutation([]int{10, 11, 12, 13, 14, 15}).Draw(t, "numbers")
		renamed := make([]Communication, len(conflict))
		for i, c := range conflict {
			renamed[len(conflict)-1-i] = Communication{c.Name, number[c.From], number[c.To]}
		}
		for _, m := range []Model{PaperGigabitEthernet(), Myrinet{}} {
			a, err := m.Penalties(conflict)
			if err != nil {
				t.Fatal(err)
			}
			b, err := m.Penalties(renamed)
			if err != nil {
				t.Fatal(err)
			}
			for i := range a {
				if a[i] != b[len(b)-1-i] || a[i] < 0.9 {
					t.Fatalf("%s: %s: %v, renumbered %v", m.Name(), conflict[i], a[i], b[len(b)-1-i])
				}
			}
		}
	})
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "NAME:FROM-TO"},
		{"a", "NAME:FROM-TO"},
		{"a:0", "NAME:FROM-TO"},
		{":0-1", "NAME:FROM-TO"},
		{"a:0-0", "two different nodes"},
		{"a:-1-2", `node "": want`},
		{"a:0--1", `node "-1"`},
		{"a:0-1048576", "0 to 1048575"},
		{"a:00-1", `node "00"`},
		{"a:x-1", `node "x"`},
	} {
		if _, err := ParseCommunication(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
	for _, m := range []Model{PaperGigabitEthernet(), Myrinet{}, Infiniband{}} {
		if _, err := m.Penalties(nil); !errors.Is(err, ErrNoCommunications) {
			t.Errorf("%s of nobody: %v", m.Name(), err)
		}
		if _, err := m.Penalties([]Communication{{"a", 0, 1}, {"a", 2, 2}, {"", 1, -1}}); err == nil || strings.Count(err.Error(), "\n") != 3 {
			t.Errorf("%s: %v, want four faults", m.Name(), err)
		}
	}
	if _, err := (GigabitEthernet{Beta: 0, GammaOut: -1, GammaIn: math.NaN()}).Penalties([]Communication{{"a", 0, 1}}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v, want three faults", err)
	}
	if _, _, err := SendSets(make65(t)); !errors.Is(err, ErrUnsupported) {
		t.Errorf("65 communications: %v", err)
	}
}

func make65(t *testing.T) []Communication {
	t.Helper()
	var conflict []Communication
	for i := range 65 {
		conflict = append(conflict, Communication{strings.Repeat("x", i+1), i, i + 1})
	}
	return conflict
}

func FuzzParseCommunication(f *testing.F) {
	f.Add("a:0-1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCommunication(text)
		if err != nil {
			return
		}
		again, err := ParseCommunication(c.String())
		if err != nil || again != c || c.String() != text {
			t.Fatalf("%q reads as %v, again %v (%v)", text, c, again, err)
		}
	})
}

// 40 communications that share cards: a ladder, a grid and a clique of cards.
func BenchmarkSendSets(b *testing.B) {
	for _, shape := range []struct {
		name  string
		nodes int
		step  int
	}{{"20 nodes, two each", 20, 7}, {"14 nodes", 14, 5}, {"40 of 7 by 7", 7, 1}} {
		var conflict []Communication
		for i := range 40 {
			from := i % shape.nodes
			to := (from + 1 + (i/shape.nodes)*shape.step%(shape.nodes-1)) % shape.nodes
			conflict = append(conflict, Communication{string(rune('A' + i)), from, 100 + to})
		}
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				sets, _, err := SendSets(conflict)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(sets), "sets")
			}
		})
	}
}
