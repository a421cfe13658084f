package pmu

import (
	"context"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/profiler"
)

const (
	// defaultInterval resolves phases of a second well at a cost far below one
	// in a thousand of a core.
	defaultInterval = 100 * time.Millisecond
	// leastInterval leaves counters that take turns, every 1 to 4 ms, some turns
	// in each sample.
	leastInterval = 10 * time.Millisecond
	// maxSamples is the longest time line a profile keeps.
	maxSamples = 10000
)

func intervalOf(w profiler.Workload) (time.Duration, error) {
	switch {
	case w.Interval == 0:
		return defaultInterval, nil
	case w.Interval < leastInterval:
		return 0, fmt.Errorf("interval %v: want at least %v, below which counters that take turns miss a sample", w.Interval, leastInterval)
	}
	return w.Interval, nil
}

// follow runs w and calls sample after every interval with the time since the
// start, and once more when w has ended. When sample fails, w is canceled.
func follow(ctx context.Context, w profiler.Workload, interval time.Duration, sample func(elapsed time.Duration, last bool) error) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- w.Wait(ctx) }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			elapsed := time.Since(start)
			if err != nil {
				return elapsed, err
			}
			return elapsed, sample(elapsed, true)
		case <-ticker.C:
			if err := sample(time.Since(start), false); err != nil {
				cancel()
				<-ended //nolint:errcheck // canceled for err
				return time.Since(start), err
			}
		}
	}
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	return profiler.Workload{Duration: d}.Wait(ctx)
}

// rate is traffic in bytes per second; without a split all of it is read.
type rate struct{ read, write float64 }

func (r rate) plus(o rate) rate { return rate{r.read + o.read, r.write + o.write} }
func (r rate) total() float64   { return r.read + r.write }

// timeline collects samples. When it grows beyond what a profile keeps, it
// halves its resolution, as often as needed.
type timeline struct {
	samples []v1alpha1.TrafficSample
	// least is the length in seconds below which a sample joins the one before.
	least float64
}

// add appends the mean traffic from the previous sample's end to this one's.
func (t *timeline) add(elapsed time.Duration, r rate) {
	sample := v1alpha1.TrafficSample{Seconds: elapsed.Seconds(), ReadBytesPerSecond: r.read, WriteBytesPerSecond: r.write}
	last := len(t.samples) - 1
	if last < 0 {
		t.samples = append(t.samples, sample)
		return
	}
	length := sample.Seconds - t.samples[last].Seconds
	if length <= 0 {
		return
	}
	if length < t.least || t.samples[last].Seconds-t.start(last) < t.least {
		t.samples[last] = t.joined(last, sample)
		return
	}
	if len(t.samples) == maxSamples {
		t.halve()
	}
	t.samples = append(t.samples, sample)
}

// halve joins pairs, and makes the line take samples of twice the length.
func (t *timeline) halve() {
	kept := make([]v1alpha1.TrafficSample, 0, len(t.samples))
	for i := 0; i+1 < len(t.samples); i += 2 {
		kept = append(kept, t.joined(i, t.samples[i+1]))
	}
	t.samples = kept
	t.least *= 2
}

// start is when sample i starts.
func (t *timeline) start(i int) float64 {
	if i == 0 {
		return 0
	}
	return t.samples[i-1].Seconds
}

// joined is the mean of sample i and the next one.
func (t *timeline) joined(i int, next v1alpha1.TrafficSample) v1alpha1.TrafficSample {
	first := t.samples[i]
	a, b := first.Seconds-t.start(i), next.Seconds-first.Seconds
	mean := func(x, y float64) float64 { return (a*x + b*y) / (a + b) }
	return v1alpha1.TrafficSample{
		Seconds:             next.Seconds,
		ReadBytesPerSecond:  mean(first.ReadBytesPerSecond, next.ReadBytesPerSecond),
		WriteBytesPerSecond: mean(first.WriteBytesPerSecond, next.WriteBytesPerSecond),
	}
}

// spread is the standard deviation of the total over time ÷ its mean; nil with
// fewer than two samples or without traffic.
func (t *timeline) spread() *float64 {
	if len(t.samples) < 2 {
		return nil
	}
	var time, sum, squares float64
	for i, s := range t.samples {
		length, total := s.Seconds-t.start(i), s.ReadBytesPerSecond+s.WriteBytesPerSecond
		time += length
		sum += length * total
	}
	mean := sum / time
	if !(mean > 0) {
		return nil
	}
	for i, s := range t.samples {
		length, total := s.Seconds-t.start(i), s.ReadBytesPerSecond+s.WriteBytesPerSecond
		squares += length * (total - mean) * (total - mean)
	}
	return new(math.Sqrt(squares/time) / mean)
}
