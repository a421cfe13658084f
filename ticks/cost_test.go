package ticks

import (
	"testing"
	"time"
)

func TestCallCost(t *testing.T) {
	needUprobe(t)
	cost, err := CallCost()
	if err != nil {
		t.Fatal(err)
	}
	// A call alone takes a nanosecond or two; a breakpoint takes two traps.
	if cost < 50*time.Nanosecond {
		t.Errorf("a counted call costs %v", cost)
	}
	t.Logf("a counted call costs %v", cost)
}
