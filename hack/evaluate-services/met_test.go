package main

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A stall of one slice does not count, and slices with few answers are taken together.
func TestP99(t *testing.T) {
	of := func(answers int, d time.Duration) *hdrhistogram.Histogram {
		h := hdrhistogram.New(1, int64(time.Minute), 3)
		if err := h.RecordValues(int64(d), int64(answers)); err != nil {
			t.Fatal(err)
		}
		return h
	}
	var many met
	for i, d := range []time.Duration{time.Millisecond, time.Second, 2 * time.Millisecond, time.Millisecond, time.Millisecond} {
		many.add(of(enough+i, d))
	}
	if got := many.p99(); got < 0.00099 || got > 0.00101 {
		t.Errorf("%v s, want 1 ms", got)
	}
	var few met
	for range 5 {
		few.add(of(enough/2, time.Millisecond))
		few.add(of(enough/2, 3*time.Millisecond))
	}
	few.add(of(1, time.Hour/1000))
	if got := few.p99(); len(few.latencies) != 6 || got < 0.00299 || got > 0.00301 {
		t.Errorf("%v s of %d groups, want 3 ms of 6", got, len(few.latencies))
	}
}

func TestSummary(t *testing.T) {
	cases := []measured{
		{predicted: predicted{saturationPredicted: 0.95, low: 0.8, high: 1.2}, saturation: 0.95, p99: 1.1, p99Predicted: 1},
		{predicted: predicted{saturationPredicted: 0.9, low: 0.8, high: 1.2}, saturation: 1, p99: 2, p99Predicted: 1},
		{predicted: predicted{saturationPredicted: 0.98}, saturation: 1, p99: 1, p99Predicted: 1},
	}
	want := "\nSaturation: median error 2.0%, 2 of 3 within 5%.\np99: median error 9.1%, 2 of 3 within 20%.\nIntervals of p99 hold 1 of 2.\n"
	if got := summary(cases); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
