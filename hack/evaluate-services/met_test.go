package main

import "testing"

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
