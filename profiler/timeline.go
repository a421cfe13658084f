package profiler

import (
	"math"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// maxSamples is the longest time line a profile keeps.
const maxSamples = v1alpha1.MaxTimeline

// Timeline collects consecutive samples of traffic. It halves its resolution
// whenever there are more than a profile keeps. The zero value is empty.
type Timeline struct {
	// Least is the length in seconds below which a sample joins the one before.
	Least float64
	// Samples are those collected, in the order of time.
	Samples []v1alpha1.TrafficSample
	// Halvings counts how often the resolution was halved.
	Halvings int
	// grow is the length below which a sample takes the next one in.
	grow float64
}

// Add appends the mean traffic from the end of the previous sample to end, in
// seconds since the start. A sample of no length is left out.
func (t *Timeline) Add(end float64, traffic units.Traffic) {
	sample := v1alpha1.TrafficSample{Seconds: end, ReadBytesPerSecond: float64(traffic.Read), WriteBytesPerSecond: float64(traffic.Write)}
	last := len(t.Samples) - 1
	if last < 0 {
		t.Samples = append(t.Samples, sample)
		return
	}
	length, before := end-t.Samples[last].Seconds, t.length(last)
	switch {
	case length <= 0:
		return
	case length < t.Least, before < max(t.Least, t.grow):
		t.Samples[last] = t.join(last, sample)
		return
	case len(t.Samples) == maxSamples:
		t.halve()
	}
	t.Samples = append(t.Samples, sample)
}

// finest is the part of its end that a sample lasts at least: where samples are shorter, a
// file of v1alpha1.SignificantDigits has the same end twice.
const finest = 1e-6

// Finish joins a last sample that is too short for a file to the one before.
func (t *Timeline) Finish() {
	if last := len(t.Samples) - 1; last > 0 && t.length(last) < finest*t.Samples[last].Seconds {
		t.Samples[last-1] = t.join(last-1, t.Samples[last])
		t.Samples = t.Samples[:last]
	}
}

// halve joins pairs, and has later samples grow to the length of a pair.
func (t *Timeline) halve() {
	kept := make([]v1alpha1.TrafficSample, 0, maxSamples)
	for i := 0; i+1 < len(t.Samples); i += 2 {
		kept = append(kept, t.join(i, t.Samples[i+1]))
	}
	t.Samples = kept
	t.Halvings++
	t.grow = 0.75 * kept[len(kept)-1].Seconds / float64(len(kept))
}

// length is how long sample i lasts.
func (t *Timeline) length(i int) float64 {
	if i == 0 {
		return t.Samples[0].Seconds
	}
	return t.Samples[i].Seconds - t.Samples[i-1].Seconds
}

// join returns the mean of sample i and the next one.
func (t *Timeline) join(i int, next v1alpha1.TrafficSample) v1alpha1.TrafficSample {
	first := t.Samples[i]
	a, b := t.length(i), next.Seconds-first.Seconds
	mean := func(x, y float64) float64 { return (a*x + b*y) / (a + b) }
	return v1alpha1.TrafficSample{
		Seconds:             next.Seconds,
		ReadBytesPerSecond:  mean(first.ReadBytesPerSecond, next.ReadBytesPerSecond),
		WriteBytesPerSecond: mean(first.WriteBytesPerSecond, next.WriteBytesPerSecond),
	}
}

// RelativeSpread returns the standard deviation of the total over time ÷ its
// mean; nil with fewer than two samples or without traffic.
func (t *Timeline) RelativeSpread() *float64 {
	if len(t.Samples) < 2 {
		return nil
	}
	seconds := t.Samples[len(t.Samples)-1].Seconds
	mean, variance := 0.0, 0.0
	for i, s := range t.Samples {
		mean += t.length(i) / seconds * (s.ReadBytesPerSecond + s.WriteBytesPerSecond)
	}
	if !(mean > 0) {
		return nil
	}
	for i, s := range t.Samples {
		off := s.ReadBytesPerSecond + s.WriteBytesPerSecond - mean
		variance += t.length(i) / seconds * off * off
	}
	return new(math.Sqrt(variance) / mean)
}
