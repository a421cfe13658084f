package capability_test

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/capability"
)

// Equation 2 with KNL's R_I of 140 and R_R of 119 ns, by hand.
func TestBarrierOnKNL(t *testing.T) {
	p := knlParameters(t)
	tests := []struct {
		threads, rounds, partners int
		want                      float64
	}{
		{1, 0, 0, 0},
		{2, 1, 1, 259},
		{3, 1, 2, 378},
		{4, 1, 3, 497},
		{64, 3, 3, 3 * (140 + 3*119)},
		{256, 4, 3, 4 * (140 + 3*119)},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.threads), func(t *testing.T) {
			b, err := capability.NewBarrier(p, tt.threads)
			if err != nil || b.Rounds != tt.rounds || b.Partners != tt.partners || math.Abs(float64(b.Cost)-tt.want) > 1e-9 {
				t.Errorf("got %+v, %v", b, err)
			}
		})
	}
	classic, err := capability.BarrierWith(p, 64, 1)
	if err != nil || classic.Rounds != 6 || classic.Cost != 6*259 {
		t.Errorf("with one partner: %+v, %v", classic, err)
	}
}

// After the last round everybody has heard of everybody, no pair of rounds and
// partners with (m + 1)^r ≥ n is cheaper, and nobody signals to itself or twice
// to the same.
func TestBarrierReachesEverybodyAtTheLeastCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(t, "threads")
		p := capability.Parameters{
			CoresPerTile: 1, Memory: capability.Cost(rapid.Float64Range(0, 1000).Draw(t, "memory")),
			Remote: capability.Cost(rapid.Float64Range(0, 1000).Draw(t, "remote")),
		}
		best, err := capability.NewBarrier(p, n)
		if err != nil {
			t.Fatal(err)
		}
		for m := 1; m < n; m++ {
			for r, reached := 1, m+1; r < 8; r, reached = r+1, reached*(m+1) {
				if cost := capability.Cost(r) * (p.Memory + capability.Cost(m)*p.Remote); reached >= n && cost < best.Cost-1e-9 {
					t.Fatalf("%+v, yet %d rounds with %d partners cost %v", best, r, m, cost)
				}
			}
			b, err := capability.BarrierWith(p, n, m)
			if err != nil {
				t.Fatal(err)
			}
			checkReach(t, b)
		}
	})
}

func checkReach(t *rapid.T, b capability.Barrier) {
	heard := make([]uint64, b.Threads)
	for i := range heard {
		heard[i] = 1 << i
	}
	for round := range b.Rounds {
		next := append([]uint64(nil), heard...)
		for thread := range b.Threads {
			seen := uint64(1) << thread
			for _, to := range b.Signals(thread, round) {
				if seen&(1<<to) != 0 {
					t.Fatalf("%+v: thread %d signals to %v in round %d", b, thread, b.Signals(thread, round), round)
				}
				seen |= 1 << to
				next[to] |= heard[thread]
			}
		}
		heard = next
	}
	for thread, of := range heard {
		if bits.OnesCount64(of) != b.Threads {
			t.Fatalf("%+v: thread %d has heard of %d", b, thread, bits.OnesCount64(of))
		}
	}
}

func TestBarrierRefuses(t *testing.T) {
	p := knlParameters(t)
	if _, err := capability.NewBarrier(p, 0); err == nil || !strings.Contains(err.Error(), "0 threads") {
		t.Error(err)
	}
	if _, err := capability.NewBarrier(capability.Parameters{}, 4); err == nil || !strings.Contains(err.Error(), "cores per tile") {
		t.Error(err)
	}
	for _, partners := range []int{0, 4, -1} {
		if _, err := capability.BarrierWith(p, 4, partners); err == nil || !strings.Contains(err.Error(), "among 4 threads") {
			t.Errorf("%d partners: %v", partners, err)
		}
	}
}
