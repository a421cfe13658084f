package main

import (
	"strings"
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

// Transactions belong to the slice in which they ended.
func TestTransactions(t *testing.T) {
	all, err := parseTransactions(strings.NewReader("0 1 1000 0 100 500000\n1 7 3000 0 100 600000 12\n0 2 5000 0 101 1\n"))
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	var first, second met
	span{time.Unix(100, 0), time.Unix(100, 600_000_000), &first}.count(all)
	span{time.Unix(100, 600_000_000), time.Unix(102, 600_000_000), &second}.count(all)
	if len(first.rates) != 1 || first.rate() < 3.33 || first.rate() > 3.34 || first.latencies[0].TotalCount() != 2 || first.p99() < 0.00299 || first.p99() > 0.00301 {
		t.Errorf("%+v, p99 %v", first, first.p99())
	}
	if second.rate() != 0.5 || second.p99() < 0.00499 || second.p99() > 0.00501 {
		t.Errorf("%+v, p99 %v", second, second.p99())
	}
	for _, bad := range []string{"0 1 1000 0 100\n", "0 1 skipped 0 100 5\n", "an error\n"} {
		if got, err := parseTransactions(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestParsePgbench(t *testing.T) {
	s, err := parsePgbench("postgres tcp://127.0.0.1:5432 pgbench --client=4 bench -- postgres -D db")
	if err != nil || s.name != "postgres" || s.pgbench != "pgbench --client=4 bench" || s.command != "postgres -D db" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parsePgbench("postgres tcp://127.0.0.1:5432 pgbench"); err == nil {
		t.Errorf("without a server: %+v", s)
	}
}
