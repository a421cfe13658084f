package kernel

import (
	"math"
	"testing"
	"time"

	"bandmate.dev/bandmate/units"
)

func TestAvailable(t *testing.T) {
	sets := Available()
	if last := sets[len(sets)-1]; last.Name() != Generic || last.MinReadShare() != 0.5 {
		t.Errorf("the last set is %q from %v reads on, want %q from 50%% on", last.Name(), last.MinReadShare(), Generic)
	}
	if Best().Name() != sets[0].Name() {
		t.Errorf("the best set is %q, the first is %q", Best().Name(), sets[0].Name())
	}
}

func TestNewMixRefuses(t *testing.T) {
	for _, share := range []units.ReadShare{-0.01, 1.01, units.ReadShare(math.NaN()), units.ReadShare(math.Inf(1))} {
		if _, err := NewMix(share); err == nil {
			t.Errorf("NewMix(%v): no error", float64(share))
		}
	}
}

func TestMisuse(t *testing.T) {
	mix, err := NewMix(0.75)
	if err != nil {
		t.Fatal(err)
	}
	state := NewRandomState(1)
	buf := guarded(t, 2*ChunkAlign, 1)
	cases := map[string]func(){
		"length":               func() { Best().Sequential(buf[:ChunkAlign+units.LineBytes], &mix, 0) },
		"alignment":            func() { Best().Sequential(buf[8:ChunkAlign+8], &mix, 0) },
		"random on nothing":    func() { Best().Random(nil, &mix, &state, 1, 1, 0) },
		"below none in flight": func() { Best().Random(buf, &mix, &state, 1, -1, 0) },
		"too many in flight":   func() { Best().Random(buf, &mix, &state, 1, MaxInFlight+1, 0) },
		"negative lines":       func() { Best().Random(buf, &mix, &state, -1, 1, 0) },
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
	if got := Best().Sequential(nil, &mix, 0); got != (Traffic{}) {
		t.Errorf("traffic of no buffer: %+v", got)
	}
}

func TestSpin(t *testing.T) {
	const d = 2 * time.Millisecond
	start := time.Now()
	Spin(d)
	if got := time.Since(start); got < d {
		t.Errorf("Spin(%v) took %v", d, got)
	}
	Spin(-1)
}

func BenchmarkSequential(b *testing.B) {
	for _, share := range []units.ReadShare{1, 0.75, 0.5, 0.25} {
		for _, set := range Available() {
			b.Run(share.String()+"/"+set.Name(), func(b *testing.B) {
				buf := guarded(b, 256<<20, 1)
				mix, err := NewMix(share)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				var total Traffic
				for b.Loop() {
					for at := 0; at < len(buf); at += 64 << 10 {
						total = total.Add(set.Sequential(buf[at:at+64<<10], &mix, 0))
					}
				}
				b.SetBytes(int64(total.Total()) / int64(b.N))
			})
		}
	}
}

// TestIncrements holds the constants against the generator that they are said
// to come from.
func TestIncrements(t *testing.T) {
	words := splitMix(0)
	for i, got := range increments {
		if want := words.next() | 1; got != want {
			t.Errorf("increment %d is %#x, want %#x", i, got, want)
		}
	}
}
