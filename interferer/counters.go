package interferer

import (
	"math"
	"time"

	"bandmate.dev/bandmate/units"
)

// Counters is what an interferer has done since its start. Each thread's part
// is consistent in itself and at most a few ten microseconds old while it
// streams.
type Counters struct {
	// Time is when this was so, on CLOCK_MONOTONIC; the mean of the threads'
	// moments.
	Time time.Duration
	// ReadBytes and WriteBytes are the traffic at the memory controller by
	// line accounting, over all threads.
	ReadBytes, WriteBytes uint64
	// Late is thread time whose traffic was given up. For a paced stream it is
	// the time by which the stream fell behind, beyond 2 ms, because others
	// took the CPU or because memory gave no more. For unpaced streams and for
	// spinning it is the time without the CPU. Sum over threads.
	Late time.Duration
	// OffCPU is the time in which streaming or spinning threads did not have
	// their CPU, as the operating system accounts it. Sum over threads.
	OffCPU time.Duration

	threads int
	windows windowSums
}

// Achieved is what happened between two moments.
type Achieved struct {
	// Elapsed is the time between them; 0 when nothing is known.
	Elapsed time.Duration
	// Traffic is the mean at the memory controller over Elapsed.
	Traffic units.Traffic
	// LostShare is the part of the requested traffic that was given up, 0 to 1:
	// Counters.Late ÷ thread time.
	LostShare float64
	// OffCPUShare is the part of thread time without the CPU, 0 to 1. Where
	// LostShare is larger, memory gave no more.
	OffCPUShare float64
	// Variation is the standard deviation of the total traffic over windows
	// of 10 ms, relative to its mean; NaN where fewer than two windows of
	// streaming lie between the moments.
	Variation float64
	// Windows is the number of those windows.
	Windows int
	// Warnings are doubts about the result; set by [Run] only.
	Warnings []string
}

// Since returns what happened between earlier and c, two snapshots of one
// interferer. If earlier is not the earlier one, Elapsed is 0.
func (c Counters) Since(earlier Counters) Achieved {
	elapsed := c.Time - earlier.Time
	if elapsed <= 0 {
		return Achieved{Variation: math.NaN()}
	}
	seconds := units.Bandwidth(elapsed.Seconds())
	threadTime := float64(elapsed) * float64(max(c.threads, 1))
	windows := c.windows.since(earlier.windows)
	return Achieved{
		Elapsed: elapsed,
		Traffic: units.Traffic{
			Read:  units.Bandwidth(c.ReadBytes-earlier.ReadBytes) / seconds,
			Write: units.Bandwidth(c.WriteBytes-earlier.WriteBytes) / seconds,
		},
		LostShare:   min(1, float64(c.Late-earlier.Late)/threadTime),
		OffCPUShare: min(1, float64(c.OffCPU-earlier.OffCPU)/threadTime),
		Variation:   windows.variation(),
		Windows:     int(windows.count),
	}
}

// windowSums are sums over windows of equal length of the total traffic in
// GB/s, and of its square: what a relative standard deviation needs, in a form
// that can be subtracted.
type windowSums struct {
	count        uint64
	sum, squares float64
}

func (w *windowSums) add(b units.Bandwidth) {
	w.count++
	w.sum += b.GBps()
	w.squares += b.GBps() * b.GBps()
}

func (w windowSums) since(earlier windowSums) windowSums {
	return windowSums{
		count:   w.count - earlier.count,
		sum:     w.sum - earlier.sum,
		squares: w.squares - earlier.squares,
	}
}

// variation returns the sample standard deviation ÷ the mean, NaN where it is
// not defined.
func (w windowSums) variation() float64 {
	if w.count < 2 || w.sum <= 0 {
		return math.NaN()
	}
	n := float64(w.count)
	mean := w.sum / n
	variance := max(0, (w.squares-w.sum*mean)/(n-1))
	return math.Sqrt(variance) / mean
}
