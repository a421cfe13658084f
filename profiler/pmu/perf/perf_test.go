package perf

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDifference(t *testing.T) {
	reading := func(enabled, running int64, values ...uint64) CounterSample {
		return CounterSample{Values: values, Enabled: time.Duration(enabled) * time.Second, Running: time.Duration(running) * time.Second}
	}
	for _, tt := range []struct {
		name string
		a, b CounterSample
		is   error
	}{
		{"rises", reading(1, 1, 5, 6), reading(3, 2, 7, 6), nil},
		{"nothing passed", reading(1, 1, 5), reading(1, 1, 5), nil},
		{"a count falls", reading(1, 1, 5, 6), reading(3, 2, 7, 5), ErrBackwards},
		{"a count falls below zero", reading(1, 1, 5), reading(3, 2, math.MaxUint64), ErrBackwards},
		{"its time falls", reading(3, 3, 5), reading(0, 0, 0), ErrVanished},
		{"running falls", reading(3, 3, 5), reading(4, 2, 6), ErrVanished},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := difference(tt.a, tt.b)
			if !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) {
				t.Fatalf("error %v, want %v", err, tt.is)
			}
			if err == nil && (d.Enabled != tt.b.Enabled-tt.a.Enabled || d.Values[0] != tt.b.Values[0]-tt.a.Values[0]) {
				t.Errorf("difference %+v", d)
			}
		})
	}
	early, late := reading(3, 3, 5), reading(3, 3, 6)
	late.Enabled, late.Running = late.Enabled-ClockStep, late.Running-ClockStep
	if d, err := difference(early, late); err != nil || d.Enabled != 0 || d.Running != 0 || d.Values[0] != 1 {
		t.Errorf("a clock that steps back: %+v, %v; want no time passed", d, err)
	}
	late.Running--
	if d, err := difference(early, late); !errors.Is(err, ErrVanished) {
		t.Errorf("a clock that steps back further: %+v, %v", d, err)
	}
	if _, err := difference(reading(1, 1, 1), reading(2, 2, 1, 1)); err == nil {
		t.Error("readings of two groups have a difference")
	}
}

// TestDifferencesAddUp: what is counted in two intervals is what is counted in
// both together.
func TestDifferencesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := func(from CounterSample) CounterSample {
			enabled := rapid.Int64Range(0, 1e12).Draw(t, "enabled")
			return CounterSample{
				Values:  []uint64{from.Values[0] + rapid.Uint64Range(0, 1<<48).Draw(t, "count")},
				Enabled: from.Enabled + time.Duration(enabled),
				Running: from.Running + time.Duration(rapid.Int64Range(0, enabled).Draw(t, "running")),
			}
		}
		a := CounterSample{Values: []uint64{0}}
		b := step(a)
		c := step(b)
		ab, err1 := difference(a, b)
		bc, err2 := difference(b, c)
		ac, err3 := difference(a, c)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if ab.Values[0]+bc.Values[0] != ac.Values[0] || ab.Enabled+bc.Enabled != ac.Enabled || ab.Running+bc.Running != ac.Running {
			t.Fatalf("%+v and %+v are not %+v", ab, bc, ac)
		}
	})
}

func difference(a, b CounterSample) (d CounterSample, err error) {
	err = d.Between(a, b)
	return d, err
}
