package measure

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bandmate.dev/bandmate/capability/collective"
)

// Rounds follow each other: nobody begins one before all have ended the last,
// and before it is prepared.
func TestInRounds(t *testing.T) {
	const rounds = 20
	for _, most := range []int{1, 2, 4} {
		on := cpus(t, most)
		threads := len(on)
		var inside atomic.Int64
		prepared, handed := 0, 0
		err := inRounds(on, rounds, func(round int) {
			if round != prepared || inside.Load() != int64(round*threads) {
				t.Errorf("round %d is prepared after %d, %d calls", round, prepared, inside.Load())
			}
			prepared++
		}, func(i, round int, w *window) time.Duration {
			if prepared != round+1 {
				t.Errorf("round %d begins with %d prepared", round, prepared)
			}
			inside.Add(1)
			if w.elapsed() < 0 {
				t.Errorf("%v before the agreed moment", -w.elapsed())
			}
			return time.Duration(100*round + i)
		}, func(round int, took []time.Duration) {
			handed++
			if len(took) != threads || took[threads-1] != time.Duration(100*round+threads-1) {
				t.Errorf("round %d took %v", round, took)
			}
		})
		if err != nil || prepared != rounds || handed != rounds || inside.Load() != int64(rounds*threads) {
			t.Errorf("%d threads: %v, %d prepared, %d handed over, %d calls", threads, err, prepared, handed, inside.Load())
		}
	}
}

// Time without the CPU is noticed: here the thread sleeps.
func TestTimed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took, alone := timed(func() { time.Sleep(5 * time.Millisecond) })
	if took < 5*time.Millisecond || alone {
		t.Errorf("a sleep took %v, alone %t", took, alone)
	}
	if threadTime() <= 0 {
		t.Error("no time on the CPU")
	}
}

// One CPU that cannot be used ends all, whichever it is.
func TestInRoundsEnds(t *testing.T) {
	there := cpus(t, 1)[0]
	for _, on := range [][]int{{100_000, there}, {there, 100_000}, {100_000}} {
		err := inRounds(on, 5, nil, func(int, int, *window) time.Duration { return 0 }, nil)
		if err == nil || !strings.Contains(err.Error(), "100000") {
			t.Errorf("%v: %v", on, err)
		}
	}
}

func race(t *testing.T, o RaceOptions, op collective.Operation) ([]Median, []collective.Contestant, error) {
	t.Helper()
	contestants, err := collective.Contestants(op, nil, len(o.CPUs))
	if err != nil {
		t.Fatal(err)
	}
	medians, err := Race(t.Context(), o, contestants)
	return medians, contestants, err
}

// Every contestant runs and takes its time.
func TestRace(t *testing.T) {
	for _, op := range collective.Operations() {
		told := 0
		medians, contestants, err := race(t, RaceOptions{
			CPUs: cpus(t, 2), Repeats: Repeats{6, 6}, Budget: 1, Progress: func(int, int, string) { told++ },
		}, op)
		if err != nil || told != 6*len(contestants) {
			t.Fatalf("%s: told %d times, %v", op, told, err)
		}
		for i, m := range medians {
			if m.Value <= 0 || m.Repeats != 6 {
				t.Errorf("%s, %s: %+v", op, contestants[i].Name, m)
			}
		}
	}
}

func TestRaceRefuses(t *testing.T) {
	_, _, err := race(t, RaceOptions{CPUs: []int{0, 0}}, collective.BarrierOperation)
	for _, want := range []string{"CPUs [0 0]", "budget of 0s", "0 to 0 repeats"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	_, _, err = race(t, RaceOptions{CPUs: []int{100_000}, Budget: 1, Repeats: Repeats{6, 6}}, collective.ReduceOperation)
	if err == nil || !strings.Contains(err.Error(), "100000") {
		t.Error(err)
	}
}

// BenchmarkRace runs each operation call after call, one thread on each CPU. It
// is throughput: broadcasts and reductions may overlap, which bandmate capability
// race does not let them.
func BenchmarkRace(b *testing.B) {
	on := cpus(b, 64)
	for _, op := range collective.Operations() {
		contestants, err := collective.Contestants(op, nil, len(on))
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range contestants {
			name := "op=" + string(op) + "/algorithm=" + strings.ReplaceAll(c.Name, " ", "-")
			b.Run(name, func(b *testing.B) {
				if err := each(on, func(i int) {
					for range b.N { // as many in every thread
						c.Do(i)
					}
				}); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
