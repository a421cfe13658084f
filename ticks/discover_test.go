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
	names := map[string]bool{}
	for i, c := range found {
		t.Logf("%s: %.0f/s ± %.0f%% in %d windows", c.Source.Name(), c.Rate, 100*c.Variation, c.Windows)
		names[c.Source.Name()] = true
		if i > 0 && c.Variation < found[i-1].Variation-0.005 {
			t.Error("not in order of steadiness")
		}
	}
	if !names["function worker_step"] && !names["function libworker.so.1.0:library_step"] {
		t.Error("found neither of the functions that count")
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

func TestSpread(t *testing.T) {
	mean, variation := spread([]float64{1, 2, 3})
	if math.Abs(mean-2) > 1e-12 || math.Abs(variation-0.5) > 1e-12 {
		t.Errorf("%v, %v; want 2, 0.5", mean, variation)
	}
	if _, variation := spread([]float64{1}); !math.IsNaN(variation) {
		t.Errorf("of one: %v", variation)
	}
}
