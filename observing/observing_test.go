package observing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/ticks"
)

// world is a simulated machine with a target and its neighbors.
type world struct {
	t      *testing.T
	now    time.Duration
	random *rand.Rand
	work   float64
	// rate is that of the target alone.
	rate      float64
	neighbors []*simulated
	// noise is the standard deviation of the rate from millisecond to millisecond.
	noise float64
	// ends is when the target ends; 0 for never.
	ends time.Duration
	// shared has a third program hold the target's CPU for 12 of each 16 ms.
	shared bool
}

// simulated is a neighbor.
type simulated struct {
	world *world
	// slowdown is what it costs the target.
	slowdown float64
	paused   bool
	open     int
	spent    time.Duration
	pauses   int
	// openFails and continueFails return the error of the n-th call.
	openFails, pauseFails, continueFails func(n int) error
	opened, continued                    int
	// most is the largest share of the time for which it had been paused.
	most float64
}

func newWorld(t *testing.T, slowdowns ...float64) *world {
	w := &world{t: t, rate: 1e9, random: rand.New(rand.NewPCG(7, 7)), noise: 0.02}
	for _, s := range slowdowns {
		w.neighbors = append(w.neighbors, &simulated{world: w, slowdown: s})
	}
	return w
}

func (w *world) Now() time.Duration { return w.now }

func (w *world) Sleep(d time.Duration) { w.pass(max(d, 0) + 10*time.Microsecond) }

// pass lets time pass in steps of a millisecond at most.
func (w *world) pass(d time.Duration) {
	for d > 0 {
		step := min(d, time.Millisecond)
		d -= step
		w.now += step
		// The clock of the machine drifts by a fifth.
		rate := w.rate * (1 + 0.2*math.Sin(w.now.Seconds())) * (1 + w.noise*w.random.NormFloat64())
		for _, n := range w.neighbors {
			if !n.paused {
				rate /= n.slowdown
			} else if n.spent += step; true {
				n.most = max(n.most, n.spent.Seconds()/w.now.Seconds())
			}
		}
		if w.shared && w.now%(16*time.Millisecond) >= 4*time.Millisecond {
			rate = 0
		}
		w.work += max(rate, 0) * step.Seconds()
	}
}

func (w *world) Read() (float64, error) {
	w.pass(5 * time.Microsecond)
	if w.ends != 0 && w.now >= w.ends {
		return w.work, fmt.Errorf("simulated: %w", ticks.ErrEnded)
	}
	return w.work, nil
}

func (*world) Close() error { return nil }

func (n *simulated) Open() (Pauser, error) {
	n.opened++
	if n.openFails != nil {
		if err := n.openFails(n.opened); err != nil {
			return nil, err
		}
	}
	for _, other := range n.world.neighbors {
		if other.open > 0 {
			n.world.t.Errorf("two neighbors are held at the same time")
		}
	}
	n.open++
	n.world.pass(10 * time.Millisecond)
	return n, nil
}

func (n *simulated) Pause() error {
	n.pauses++
	n.world.pass(100 * time.Microsecond)
	if n.pauseFails != nil {
		if err := n.pauseFails(n.pauses); err != nil {
			return err
		}
	}
	n.paused = true
	return nil
}

func (n *simulated) Continue() error {
	if !n.paused {
		return nil
	}
	n.paused = false
	n.continued++
	if n.continueFails != nil {
		return n.continueFails(n.continued)
	}
	return nil
}

func (n *simulated) Close() error {
	n.open--
	return n.Continue()
}

func (w *world) observer(d time.Duration) *Observer {
	o := &Observer{
		Clock: w, Random: rand.New(rand.NewPCG(3, 4)), Duration: d,
		Target: &Counting{Counter: w, Name: "simulated", Steps: 1e6, Smooth: true},
	}
	for i, n := range w.neighbors {
		o.Neighbors = append(o.Neighbors, Neighbor{Name: fmt.Sprint(i), Open: n.Open})
	}
	return o
}

// checkLeft fails when anything is paused or held.
func (w *world) checkLeft() {
	w.t.Helper()
	for i, n := range w.neighbors {
		if n.paused || n.open != 0 {
			w.t.Errorf("neighbor %d is left paused: %v, held %d times", i, n.paused, n.open)
		}
	}
}

func TestObserverFindsSlowdown(t *testing.T) {
	for _, slowdown := range []float64{1, 1.05, 1.5, 3} {
		w := newWorld(t, slowdown)
		result, err := w.observer(30 * time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		f := result.Findings[0]
		if got := 1 / f.Estimate.Performance; math.Abs(got-slowdown) > 0.03*slowdown {
			t.Errorf("slowdown %.3f, want %.2f (%d blocks)", got, slowdown, f.Estimate.Readings)
		}
		if got := 1 / result.Control.Performance; math.Abs(got-1) > 0.03 {
			t.Errorf("beside %.2f the control is %.3f, want 1", slowdown, got)
		}
		if m := w.neighbors[0].most; m > MostPaused {
			t.Errorf("beside %.2f it was paused for %.2f%% of the time", slowdown, 100*m)
		}
		if math.Abs(f.PausedShare-w.neighbors[0].spent.Seconds()/result.Elapsed.Seconds()) > 0.001 {
			t.Errorf("it was paused for %v of %v, and %.4f is told", w.neighbors[0].spent, result.Elapsed, f.PausedShare)
		}
	}
}

// The interval holds the truth about nine times in ten.
func TestObserverInterval(t *testing.T) {
	const runs = 60
	holds := 0
	for seed := range runs {
		w := newWorld(t, 1.2)
		w.random = rand.New(rand.NewPCG(uint64(seed), 1))
		w.noise = 0.1
		o := w.observer(6 * time.Second)
		o.Random = rand.New(rand.NewPCG(uint64(seed), 2))
		result, err := o.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e := result.Findings[0].Estimate; 1/e.High <= 1.2 && 1.2 <= 1/e.Low {
			holds++
		}
	}
	// A binomial of 0.9 leaves these bounds once in a thousand.
	if holds < 46 {
		t.Errorf("the interval held the slowdown %d of %d times", holds, runs)
	}
}

// A target that has its CPU for a quarter of the time, in turns longer than a slice, is
// measured all the same, with an interval that says how well.
func TestObserverBesideThirdProgram(t *testing.T) {
	const runs = 20
	holds := 0
	for seed := range runs {
		w := newWorld(t, 1.5)
		w.shared = true
		w.random = rand.New(rand.NewPCG(uint64(seed), 1))
		o := w.observer(30 * time.Second)
		o.Random = rand.New(rand.NewPCG(uint64(seed), 2))
		result, err := o.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		f := result.Findings[0]
		e := f.Estimate
		if e.Readings > 1 && 1/e.High <= 1.5 && 1.5 <= 1/e.Low {
			holds++
		}
		if f.PausedShare > MostPaused {
			t.Errorf("it was paused for %.2f%% of the time", 100*f.PausedShare)
		}
	}
	// A binomial of 0.9 leaves this bound once in a thousand.
	if holds < 13 {
		t.Errorf("the interval held the slowdown %d of %d times", holds, runs)
	}
}

func TestObserverStopsWhenPrecise(t *testing.T) {
	w := newWorld(t, 1.3)
	w.noise = 0.001
	result, err := w.observer(time.Hour).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := result.Findings[0].Estimate
	if half := (1/e.Low - 1/e.High) / 2; half > precise || result.Elapsed > 20*time.Second {
		t.Errorf("±%.3f after %v", half, result.Elapsed)
	}
}

func TestObserverRanksAll(t *testing.T) {
	slowdowns := []float64{1, 1.4, 1.1, 1, 1.2}
	w := newWorld(t, slowdowns...)
	result, err := w.observer(30 * time.Second).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.checkLeft()
	for i, f := range result.Findings {
		if got := 1 / f.Estimate.Performance; math.Abs(got-slowdowns[i]) > 0.03 {
			t.Errorf("neighbor %d: %.3f after %d blocks, want %.2f", i, got, f.Estimate.Readings, slowdowns[i])
		}
		if m := w.neighbors[i].most; m > MostPaused {
			t.Errorf("neighbor %d was paused for %.2f%% of the time", i, 100*m)
		}
	}
}

// Pauses that take longer than planned, as on a busy machine, are made up for.
func TestObserverLongPauses(t *testing.T) {
	for seed := range 20 {
		w := newWorld(t, 1.2)
		random := rand.New(rand.NewPCG(uint64(seed), 9))
		w.neighbors[0].continueFails = func(int) error {
			w.neighbors[0].paused = true
			w.pass(time.Duration(random.ExpFloat64() * float64(5*time.Millisecond)))
			w.neighbors[0].paused = false
			return nil
		}
		result, err := w.observer(5 * time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		f := result.Findings[0]
		if share := w.neighbors[0].spent.Seconds() / result.Elapsed.Seconds(); share > MostPaused || f.Estimate.Readings == 0 {
			t.Errorf("paused for %.2f%% of the time in %d blocks", 100*share, f.Estimate.Readings)
		}
	}
}

func TestObserverFaults(t *testing.T) {
	broken := errors.New("broken")
	after := func(calls int, err error) func(int) error {
		return func(n int) error {
			if n > calls {
				return err
			}
			return nil
		}
	}
	t.Run("the target ends", func(t *testing.T) {
		w := newWorld(t, 1.2)
		w.ends = time.Second
		result, err := w.observer(time.Minute).Run(t.Context())
		if err != nil || !result.Ended || result.Elapsed > 2*time.Second {
			t.Errorf("%+v, %v; want its end", result, err)
		}
		w.checkLeft()
	})
	t.Run("the target stands still", func(t *testing.T) {
		w := newWorld(t, 1.2)
		w.rate = 0
		if _, err := w.observer(time.Minute).Run(t.Context()); !errors.Is(err, ErrStandsStill) {
			t.Errorf("error %v, want ErrStandsStill", err)
		}
		w.checkLeft()
	})
	t.Run("a neighbor cannot be opened", func(t *testing.T) {
		w := newWorld(t, 1.2, 1.1)
		w.neighbors[0].openFails = after(0, pausing.ErrBusy)
		result, err := w.observer(10 * time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		if f := result.Findings[0]; !errors.Is(f.Err, pausing.ErrBusy) || f.Estimate.Readings != 0 {
			t.Errorf("%+v, want that it is busy", f)
		}
		if f := result.Findings[1]; f.Err != nil || f.Estimate.Readings == 0 {
			t.Errorf("the other one: %+v", f)
		}
	})
	t.Run("a neighbor ends", func(t *testing.T) {
		w := newWorld(t, 1.2, 1.1)
		w.neighbors[0].pauseFails = after(5, pausing.ErrEnded)
		result, err := w.observer(10 * time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		if f := result.Findings[0]; !errors.Is(f.Err, pausing.ErrEnded) || f.Estimate.Readings != 5 {
			t.Errorf("%+v, want five readings and its end", f)
		}
	})
	t.Run("it cannot be continued", func(t *testing.T) {
		w := newWorld(t, 1.2)
		w.neighbors[0].continueFails = after(3, broken)
		result, err := w.observer(10 * time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		if f := result.Findings[0]; !errors.Is(f.Err, broken) || f.Estimate.Readings != 3 {
			t.Errorf("%+v, want three readings and the error", f)
		}
	})
	t.Run("pauses end too early", func(t *testing.T) {
		w := newWorld(t, 1.2)
		w.neighbors[0].continueFails = func(n int) error {
			if n%2 == 0 {
				return fmt.Errorf("simulated: %w", pausing.ErrTooLong)
			}
			return nil
		}
		result, err := w.observer(20 * time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.checkLeft()
		f := result.Findings[0]
		if f.Err != nil || f.Lost == 0 || !errors.Is(f.Fault, pausing.ErrTooLong) || f.Estimate.Readings+f.Lost != w.neighbors[0].pauses {
			t.Errorf("%d readings and %d lost of %d pauses (%v): %v", f.Estimate.Readings, f.Lost, w.neighbors[0].pauses, f.Fault, f.Err)
		}
	})
	t.Run("every pause ends too early", func(t *testing.T) {
		w := newWorld(t, 1.2)
		w.neighbors[0].continueFails = after(0, pausing.ErrTooLong)
		result, err := w.observer(time.Hour).Run(t.Context())
		if err != nil || !errors.Is(result.Findings[0].Err, pausing.ErrTooLong) || result.Elapsed > 5*time.Minute {
			t.Errorf("%+v, %v; want that it is given up", result, err)
		}
		w.checkLeft()
	})
}

// Wherever it is interrupted, nothing is left paused.
func TestObserverCanceled(t *testing.T) {
	for pauses := 1; pauses <= 3; pauses++ {
		for _, while := range []string{"opening", "pausing", "continuing"} {
			w := newWorld(t, 1.2)
			ctx, cancel := context.WithCancel(t.Context())
			stop := func(n int) error {
				if n >= pauses {
					cancel()
				}
				return nil
			}
			switch while {
			case "opening":
				w.neighbors[0].openFails = func(int) error { return stop(pauses) }
			case "pausing":
				w.neighbors[0].pauseFails = stop
			case "continuing":
				w.neighbors[0].continueFails = stop
			}
			if _, err := w.observer(time.Hour).Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled while %s: %v", while, err)
			}
			w.checkLeft()
			cancel()
		}
	}
}
