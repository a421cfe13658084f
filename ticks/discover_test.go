package ticks

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"testing"
	"time"
)

// running starts the worker for a while.
func running(t testing.TB, program, what string) Start {
	return func(context.Context) (int, func(), error) {
		cmd := exec.Command(program)
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, nil, err
		}
		if err := cmd.Start(); err != nil {
			return 0, nil, err
		}
		if _, err := in.Write([]byte(what + "\n")); err != nil {
			t.Error(err)
		}
		return cmd.Process.Pid, func() { _, _ = cmd.Process.Kill(), cmd.Wait() }, nil
	}
}

func TestDiscover(t *testing.T) {
	needUprobe(t)
	program, _ := buildWorker(t)
	// The machine may be busy: everything counts that counts at all.
	d := Discovery{Limit: 4 * time.Second, LeastRate: 10, MostRate: 1e5}
	found, err := d.Run(t.Context(), running(t, program, "run 60000"))
	if err != nil {
		t.Fatal(err)
	}
	// The worker calls each of these once in a turn of its loop.
	turns := map[string]bool{
		"function worker_step": true, "function libworker.so.1.0:library_step": true,
		"function steps": true, "function now": true, "function libc.so.6:clock_gettime": true,
	}
	counted := false
	for i, c := range found {
		t.Logf("%s: %.0f/s ± %.0f%% in %d windows", c.Source.Name(), c.Steps, 100*c.Variation, c.Windows)
		if _, isFunction := c.Source.(Function); isFunction {
			counted = true
			if !turns[c.Source.Name()] {
				t.Errorf("%s does not count turns", c.Source.Name())
			}
		}
		if i > 0 && quieter(found[i-1], c) > 0 {
			t.Error("not in order of noise")
		}
	}
	if !counted {
		t.Error("found none of the functions that count")
	}
}

func TestDiscoverNothing(t *testing.T) {
	program, _ := buildWorker(t)
	// It waits for its standard input.
	d := Discovery{Limit: 500 * time.Millisecond}
	if found, err := d.Run(t.Context(), running(t, program, "")); !errors.Is(err, ErrNothingCounts) {
		t.Errorf("%v, %v; want %v", found, err, ErrNothingCounts)
	}
	failed := errors.New("no such program")
	if _, err := Discover(t.Context(), func(context.Context) (int, func(), error) { return 0, nil, failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	ended := 0
	_, err := Discover(t.Context(), func(context.Context) (int, func(), error) {
		cmd := exec.Command("true")
		return 1 << 22, func() { ended++ }, cmd.Run()
	})
	if !errors.Is(err, ErrNothingCounts) || ended > mostStarts {
		t.Errorf("a program that ends at once: %v after %d starts", err, ended)
	}
}

func TestLogRates(t *testing.T) {
	second := time.Second
	run := []step{{0, 0}, {1, second}, {2, 2 * second}, {5, 3 * second}, {8, 4 * second}, {9, 9 * second / 2}}
	got := logRates(run, 2)
	if want := []float64{0, math.Log(3)}; len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-12 || math.Abs(got[1]-want[1]) > 1e-12 {
		t.Errorf("%v, want %v: a window that is not full does not count", got, want)
	}
}

// A coarse count is not better for being of small units.
func TestCandidatesAreRankedBySteps(t *testing.T) {
	s := &search{Discovery: Discovery{}.withDefaults()}
	grows := func(source Source, every time.Duration, ticks float64) Candidate {
		w := &watched{source: source, time: time.Second}
		var run []step
		for n := 1; time.Duration(n)*every <= time.Second; n++ {
			jitter := time.Duration(n%3) * 100 * time.Microsecond
			run = append(run, step{count: float64(n) * ticks, at: time.Duration(n)*every + jitter})
		}
		w.runs, w.seen = [][]step{run}, len(run)
		return s.candidate(w)
	}
	coarse := grows(IO{BytesRead}, 5*time.Millisecond, 65536)
	fine := grows(Function{Symbol: "step"}, time.Millisecond, 1)
	if coarse.Steps > 201 || fine.Steps < 990 {
		t.Errorf("%.0f and %.0f steps per second, want 200 and 1000", coarse.Steps, fine.Steps)
	}
	even := grows(Function{Symbol: "even"}, time.Millisecond, 1)
	even.Variation, even.Noise = 0, 0
	if quieter(even, coarse) >= 0 || quieter(coarse, even) <= 0 {
		t.Error("the source without noise is not the first")
	}
	if fine.Noise <= 0 || coarse.Noise <= 0 || math.IsNaN(fine.Noise+coarse.Noise) {
		t.Errorf("noise %v and %v", fine.Noise, coarse.Noise)
	}
	if coarse.Windows > 20 || fine.Windows < 80 {
		t.Errorf("%d and %d windows: want ten steps in each", coarse.Windows, fine.Windows)
	}
}
