package modulation_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"bandmate.dev/bandmate/modulation"
)

func TestStepRate(t *testing.T) {
	clock := &instant{}
	// Blocks of 32 KiB, 1,000 a second.
	bytes := func() (float64, error) { return 32768 * math.Floor(clock.now.Seconds()*1000), nil }
	if got, err := modulation.StepRate(t.Context(), clock, bytes); err != nil || math.Abs(got-1000) > 20 {
		t.Errorf("StepRate of blocks = %v, %v; want 1000", got, err)
	}
	begin := clock.now
	still := func() (float64, error) { return 7, nil }
	if got, err := modulation.StepRate(t.Context(), clock, still); err != nil || got != 0 || clock.now-begin > 3*time.Second {
		t.Errorf("StepRate of what stands still = %v, %v after %v; want 0", got, err, clock.now-begin)
	}
	// Other programs hold the CPU of the reader for 40 ms at a time.
	kept := func() (float64, error) {
		clock.now += 40 * time.Millisecond
		return bytes()
	}
	if got, err := modulation.StepRate(t.Context(), clock, kept); err != nil || got < 100 || got > 1000 {
		t.Errorf("StepRate of a reader that is kept from its CPU = %v, %v; want more than it saw, 25", got, err)
	}
	// The program ends after 50 ms.
	ends := clock.now + 50*time.Millisecond
	short := func() (float64, error) {
		n, _ := bytes()
		if clock.now >= ends {
			return n, modulation.ErrEnded
		}
		return n, nil
	}
	if got, err := modulation.StepRate(t.Context(), clock, short); !errors.Is(err, modulation.ErrEnded) || math.Abs(got-1000) > 50 {
		t.Errorf("StepRate of a program that ends = %v, %v; want 1000 and its end", got, err)
	}
	// It changes 2,000 times a second for 5 ms, and then does not for 15 ms.
	bunches := func() (float64, error) {
		cycles, within := math.Modf(clock.now.Seconds() * 50)
		return 10*cycles + math.Floor(40*min(within, 0.25)), nil
	}
	if got, err := modulation.StepRate(t.Context(), clock, bunches); err != nil || got < 100 || got > 130 {
		t.Errorf("StepRate of bunches = %v, %v; want about 100", got, err)
	}
	broken := errors.New("broken")
	if _, err := modulation.StepRate(t.Context(), clock, func() (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the count", err)
	}
}
