package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/network/namespaces"
)

func TestMain(m *testing.M) {
	namespaces.RunIfChild()
	os.Exit(m.Run())
}

// madeUp is a network that follows a model, in which a message alone takes a
// second; the first round is ten times as slow.
type madeUp struct {
	model network.Model
	runs  int
	first int // runs of the first round
	fault error
	// crowded makes those that share nothing slow.
	crowded float64
}

func (m *madeUp) run(_ context.Context, conflict []network.Communication) ([]float64, error) {
	m.runs++
	p, err := m.model.Penalties(conflict)
	for i := range p {
		if m.runs <= m.first {
			p[i] *= 10
		}
		if m.crowded > 0 && len(conflict) > 1 {
			p[i] *= m.crowded
		}
	}
	return p, errors.Join(err, m.fault)
}

// What fails ends the others, which would wait for ever.
func TestRunFails(t *testing.T) {
	defer goleak.VerifyNone(t)
	waiting, _ := net.Pipe()
	silent, _ := net.Pipe()
	broken, gone := net.Pipe()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	w := &wires{bytes: MinBytes, open: map[[2]int][]*wire{{0, 1}: {{waiting, silent}}, {2, 3}: {{broken, broken}}}}
	_, err := w.run(t.Context(), []network.Communication{{Name: "a", From: 0, To: 1}, {Name: "b", From: 2, To: 3}})
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func options(repeats int) Options {
	return Options{Schemes: Schemes(), Rate: 20e6, Bytes: 20e6, Repeats: repeats, Seed: 5}
}

// What follows the model is measured as the model says, in the order asked for,
// and fitted to its parameters: the schemes suffice for all of them.
func TestMeasure(t *testing.T) {
	paper, o := network.PaperGigabitEthernet(), options(3)
	steps := 0
	o.Progress = func(done, total int, next string) {
		if done != steps || total != 4*(len(o.Schemes)+2) || next == "" {
			t.Errorf("%d of %d: %q", done, total, next)
		}
		steps++
	}
	r, err := measure(t.Context(), o, &madeUp{model: paper, first: len(o.Schemes) + 2})
	if err != nil || steps != 4*(len(o.Schemes)+2) || r.AloneSeconds != 1 || len(r.Warnings) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, s := range o.Schemes {
		want, err := paper.Penalties(s.Conflict)
		if err != nil || r.Conflicts[i].Name != s.Name || fmt.Sprint(r.Conflicts[i].Penalties) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v (%v)", s.Name, r.Conflicts[i], want, err)
		}
		for _, spread := range r.Spreads[i] {
			if spread != 0 {
				t.Errorf("%s: spread %v of equal times", s.Name, spread)
			}
		}
	}
	fit, err := network.FitGigabitEthernet(r.Conflicts)
	if err != nil || len(fit.Warnings) > 0 || math.Abs(fit.Model.Beta-paper.Beta) > 1e-3 ||
		math.Abs(fit.Model.GammaOut-paper.GammaOut) > 1e-3 || math.Abs(fit.Model.GammaIn-paper.GammaIn) > 1e-3 {
		t.Errorf("fitted %+v, %v", fit, err)
	}
}

func TestMeasureDoubts(t *testing.T) {
	o := options(1)
	o.Rate = 2 * o.Rate // twice what comes through
	r, err := measure(t.Context(), o, &madeUp{model: network.PaperGigabitEthernet(), crowded: 1.5})
	if err != nil || !math.IsNaN(r.Spreads[0][0]) {
		t.Fatalf("%+v, %v", r, err)
	}
	warned := strings.Join(r.Warnings, "; ")
	for _, want := range []string{"one communication reaches 20.0 MB/s of 40.0 MB/s", "share no card have a penalty of 1.50"} {
		if !strings.Contains(warned, want) {
			t.Errorf("warns %q, want %q", warned, want)
		}
	}
	want := errors.New("the switch is gone")
	if _, err := measure(t.Context(), o, &madeUp{model: network.Myrinet{}, fault: want}); !errors.Is(err, want) || !strings.Contains(err.Error(), `conflict "alone"`) {
		t.Error(err)
	}
}

func TestOptionsRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Options){
		"no conflicts":              func(o *Options) { o.Schemes = nil },
		`"x": want a name`:          func(o *Options) { o.Schemes = []Scheme{{"x", arcs(0, 1)}, {"x", arcs(0, 1)}} },
		"no communications":         func(o *Options) { o.Schemes = []Scheme{{"x", nil}} },
		"251 nodes":                 func(o *Options) { o.Schemes = []Scheme{{"x", arcs(0, 250)}} },
		"rate of 0.00 B/s":          func(o *Options) { o.Rate = 0 },
		"1 bytes a communication":   func(o *Options) { o.Bytes = 1 },
		"repeats: 1001: want 1 to ": func(o *Options) { o.Repeats = 1001 },
	} {
		o := options(1)
		spoil(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// unmet ends a test where there can be no network namespaces.
func unmet(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, namespaces.ErrNotPermitted) {
		requires.Unmet(t, "%v", err)
	}
}

// Cards hold back those that share them: two that leave a node cannot both be as
// fast as one, whatever else this machine does.
func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	o := options(1)
	o.Schemes, o.Bytes = []Scheme{{"two leave", arcs(0, 1, 0, 2)}, {"same way", arcs(0, 1, 0, 1)}}, MinBytes
	r, err := Run(t.Context(), o)
	unmet(t, err)
	if err != nil || len(r.Conflicts) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, m := range r.Conflicts {
		// Both together carry twice the bytes, less what the token bucket lets
		// pass at once.
		const least = (2*float64(MinBytes) - 512<<10) / 20e6
		if slowest := max(m.Penalties[0], m.Penalties[1]) * r.AloneSeconds; slowest < least {
			t.Errorf("%s: %.3f s, the card takes %.3f s", m.Name, slowest, least)
		}
	}
}

func TestRunStopped(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, after := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		o, seen := options(maxRepeats), 0
		o.Progress = func(int, int, string) {
			if seen++; seen > after {
				cancel()
			}
		}
		_, err := Run(ctx, o)
		unmet(t, err)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after %d: %v", after, err)
		}
		cancel()
	}
	o := options(1)
	o.CongestionControl = "pigeon"
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrCongestionControl) {
		unmet(t, err)
		t.Error(err)
	}
}
