package main

import (
	"math"
	"testing"
)

func TestMachine(t *testing.T) {
	var u usage
	if err := u.machine("cpu  100 200 300 400 500 10 20 30 40 50\ncpu0 1 1 1 1 1 1 1 1 1 1\n"); err != nil {
		t.Fatal(err)
	}
	if math.Abs(u.busy-6.3) > 1e-9 || math.Abs(u.capacity-15.6) > 1e-9 || math.Abs(u.steal-0.3) > 1e-9 {
		t.Errorf("busy %v, capacity %v, steal %v; want 6.3, 15.6, 0.3", u.busy, u.capacity, u.steal)
	}
	for _, text := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 3 4 5 6 7 x"} {
		if err := u.machine(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestProcessSeconds(t *testing.T) {
	got, err := processSeconds("42 (a) name) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 1 0 9 10 11")
	if err != nil || got != 2 {
		t.Errorf("%v, %v; want 2", got, err)
	}
	for _, text := range []string{"", "42 (a) S 1 2", "42 (a) S 1 42 42 0 -1 4194560 1 2 3 4 many 50"} {
		if _, err := processSeconds(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
