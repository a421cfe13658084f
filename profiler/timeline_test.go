package profiler

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// meanOf is the time-weighted mean of a line.
func meanOf(t *Timeline) (read, write float64) {
	for i, s := range t.Samples {
		length := t.length(i)
		read += length * s.ReadBytesPerSecond
		write += length * s.WriteBytesPerSecond
	}
	end := t.Samples[len(t.Samples)-1].Seconds
	return read / end, write / end
}

// TestTimelineKeepsTheMean: whatever is joined, the traffic stays the same, and
// the line stays as short as a profile can hold.
func TestTimelineKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := Timeline{Least: rapid.Float64Range(0, 0.2).Draw(t, "least")}
		var elapsed time.Duration
		var bytes float64
		for range rapid.IntRange(1, 200).Draw(t, "samples") {
			step := time.Duration(rapid.Int64Range(1, 3e8).Draw(t, "step"))
			read := rapid.Float64Range(0, 1e11).Draw(t, "read")
			elapsed += step
			bytes += step.Seconds() * read
			line.Add(elapsed.Seconds(), units.Traffic{Read: units.Bandwidth(read), Write: units.Bandwidth(2 * read)})
		}
		read, write := meanOf(&line)
		want := bytes / elapsed.Seconds()
		if math.Abs(read-want) > 1e-6*want+1e-3 || math.Abs(write-2*want) > 1e-6*want+1e-3 {
			t.Fatalf("mean %v, %v; want %v, %v", read, write, want, 2*want)
		}
		for i := range line.Samples[:len(line.Samples)-1] {
			if length := line.length(i); length < line.Least {
				t.Fatalf("sample %d lasts %v, less than %v", i, length, line.Least)
			}
		}
	})
}

func TestTimelineHalves(t *testing.T) {
	line := Timeline{Least: 0.05}
	const samples = 3*maxSamples + 7
	for i := range samples {
		line.Add(0.1*float64(i+1), units.Traffic{Read: units.Bandwidth(i)})
	}
	if len(line.Samples) > maxSamples || len(line.Samples) < maxSamples/4 {
		t.Errorf("%d samples of %d", len(line.Samples), samples)
	}
	if read, _ := meanOf(&line); math.Abs(read-(samples-1)/2.) > 1e-6*samples {
		t.Errorf("mean %v, want %v", read, (samples-1)/2.)
	}
}

func TestSpread(t *testing.T) {
	line := Timeline{}
	line.Add(1, units.Traffic{Read: 1})
	if line.RelativeSpread() != nil {
		t.Error("one sample has a spread")
	}
	line.Add(4, units.Traffic{Read: 1, Write: 4})
	// Mean (1·1 + 3·5)/4 = 4, variance (1·9 + 3·1)/4 = 3.
	if got := line.RelativeSpread(); got == nil || math.Abs(*got-math.Sqrt(3)/4) > 1e-12 {
		t.Errorf("spread %v, want %v", got, math.Sqrt(3)/4)
	}
	idle := Timeline{}
	idle.Add(1, units.Traffic{})
	idle.Add(2, units.Traffic{})
	if idle.RelativeSpread() != nil {
		t.Error("no traffic has a spread")
	}
}
