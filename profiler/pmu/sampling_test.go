package pmu

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// meanOf is the time-weighted mean of a line.
func meanOf(t *timeline) (read, write float64) {
	for i, s := range t.samples {
		length := s.Seconds - t.start(i)
		read += length * s.ReadBytesPerSecond
		write += length * s.WriteBytesPerSecond
	}
	end := t.samples[len(t.samples)-1].Seconds
	return read / end, write / end
}

// TestTimelineKeepsTheMean: whatever is joined, the traffic stays the same, and
// the line stays as short as a profile can hold.
func TestTimelineKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := timeline{least: rapid.Float64Range(0, 0.2).Draw(t, "least")}
		var elapsed time.Duration
		var bytes float64
		for range rapid.IntRange(1, 200).Draw(t, "samples") {
			step := time.Duration(rapid.Int64Range(1, 3e8).Draw(t, "step"))
			read := rapid.Float64Range(0, 1e11).Draw(t, "read")
			elapsed += step
			bytes += step.Seconds() * read
			line.add(elapsed, rate{read: read, write: 2 * read})
		}
		read, write := meanOf(&line)
		want := bytes / elapsed.Seconds()
		if math.Abs(read-want) > 1e-6*want+1e-3 || math.Abs(write-2*want) > 1e-6*want+1e-3 {
			t.Fatalf("mean %v, %v; want %v, %v", read, write, want, 2*want)
		}
		for i := range line.samples[:len(line.samples)-1] {
			if length := line.samples[i].Seconds - line.start(i); length < line.least {
				t.Fatalf("sample %d lasts %v, less than %v", i, length, line.least)
			}
		}
	})
}

func TestTimelineHalves(t *testing.T) {
	line := timeline{least: 0.05}
	const samples = 3*maxSamples + 7
	for i := range samples {
		line.add(time.Duration(i+1)*100*time.Millisecond, rate{read: float64(i)})
	}
	if len(line.samples) > maxSamples || len(line.samples) < maxSamples/4 {
		t.Errorf("%d samples of %d", len(line.samples), samples)
	}
	if read, _ := meanOf(&line); math.Abs(read-(samples-1)/2.) > 1e-6*samples {
		t.Errorf("mean %v, want %v", read, (samples-1)/2.)
	}
}

func TestSpread(t *testing.T) {
	line := timeline{}
	line.add(time.Second, rate{read: 1})
	if line.spread() != nil {
		t.Error("one sample has a spread")
	}
	line.add(4*time.Second, rate{read: 1, write: 4})
	// Mean (1·1 + 3·5)/4 = 4, variance (1·9 + 3·1)/4 = 3.
	if got := line.spread(); got == nil || math.Abs(*got-math.Sqrt(3)/4) > 1e-12 {
		t.Errorf("spread %v, want %v", got, math.Sqrt(3)/4)
	}
	idle := timeline{}
	idle.add(time.Second, rate{})
	idle.add(2*time.Second, rate{})
	if idle.spread() != nil {
		t.Error("no traffic has a spread")
	}
}
