// Package samples holds small applications that use memory as real ones do: streaming,
// chasing pointers, sparse and structured solvers, sorting, and arithmetic that needs
// no memory. Each does a fixed, repeatable amount of work on one thread and checks its
// own result, so its wall time alone and beside others can be compared.
//
// The memory of a sample lies outside the Go heap, on huge pages where the
// kernel grants them, and is released when the run ends; the garbage collector
// has nothing to do. Working sets are 86 to 128 MiB, meant for last-level
// caches of up to 32 MiB per core complex; on a machine with a larger cache
// the samples cause less traffic than they do elsewhere.
package samples

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// ErrWrongResult marks a run whose result failed its check: the machine, not
// the program, is then in doubt.
var ErrWrongResult = errors.New("wrong result")

// MaxScale is the largest amount of work Run accepts, about four minutes.
const MaxScale = 1000

// Sample is one application.
type Sample struct {
	// Name is short, lower case and unique: "pointer-chase".
	Name string
	// Description says in one line what the application does.
	Description string
	// Unit is what Result.Work counts: "bytes", "loads", "keys".
	Unit string
	// WorkingSet is the memory the application uses, in bytes; 0 for one that
	// lives in registers.
	WorkingSet int

	prepare func(memory *region, scale float64) kernel
}

// Result is a run that passed its check.
type Result struct {
	// Work is the amount of work done, in Unit; the same for the same scale on
	// every machine.
	Work float64
	Unit string
	// Checksum digests the numerical result; the same for the same scale on
	// every machine and architecture.
	Checksum uint64
	// SetUp is the time to allocate and fill memory, Elapsed the time of the
	// work itself; the check comes after both.
	SetUp, Elapsed time.Duration
}

// kernel is a sample with its data laid out.
type kernel interface {
	// run does the work in steps of some milliseconds and returns ctx.Err()
	// between two of them when ctx ends.
	run(ctx context.Context) error
	// work is the amount run does.
	work() float64
	// verify checks the result of a completed run against something computed
	// another way, and digests it.
	verify() (checksum uint64, err error)
}

// All returns the samples in the order they are best shown, those that stress
// memory most first.
func All() []Sample {
	return []Sample{
		triadSample(),
		radixSortSample(),
		stencilSample(),
		conjugateGradientSample(),
		pointerChaseSample(),
		floatingPointSample(),
	}
}

// ByName returns the sample called name; the error of an unknown name lists
// the known ones.
func ByName(name string) (Sample, error) {
	var known []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return Sample{}, fmt.Errorf("no sample application %q: have %s", name, strings.Join(known, ", "))
}

// Run does the work of the sample. Scale 1 takes about a quarter of a second
// alone on a 4-GHz core; the work, not the working set, grows with it, in whole
// steps of 2 to 90 ms (a step of radix-sort, one sort of all keys, takes as long as
// scale 1). Valid scales are above 0 up to MaxScale; at least one step of work is done.
//
// Errors are those of the scale and of allocation, ctx.Err(), and
// ErrWrongResult.
func (s Sample) Run(ctx context.Context, scale float64) (Result, error) {
	if !(scale > 0 && scale <= MaxScale) {
		return Result{}, fmt.Errorf("sample %s: scale %v: want more than 0, up to %d", s.Name, scale, MaxScale)
	}
	start := time.Now()
	memory, err := newRegion(s.WorkingSet)
	if err != nil {
		return Result{}, fmt.Errorf("sample %s: %w", s.Name, err)
	}
	defer memory.release()
	k := s.prepare(memory, scale)
	prepared := time.Now()
	if err := k.run(ctx); err != nil {
		return Result{}, fmt.Errorf("sample %s: %w", s.Name, err)
	}
	done := time.Now()
	checksum, err := k.verify()
	if err != nil {
		return Result{}, fmt.Errorf("sample %s: %w", s.Name, err)
	}
	return Result{
		Work:     k.work(),
		Unit:     s.Unit,
		Checksum: checksum,
		SetUp:    prepared.Sub(start),
		Elapsed:  done.Sub(prepared),
	}, nil
}

// steps scales the number of steps that scale 1 takes.
func steps(atScale1 int, scale float64) int {
	return max(1, int(math.Round(float64(atScale1)*scale)))
}
