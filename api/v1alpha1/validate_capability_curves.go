package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const wantFitted = "want nanoseconds, 0 to 1e9"

func (f *faults) latenciesBySize(p *field.Path, list []SizeLatency) {
	if !f.length(p, len(list), 0, MaxLatenciesBySize) {
		return
	}
	last := int64(0)
	for i, l := range list {
		at := p.Index(i)
		f.ascending(at.Child("bytes"), l.Bytes, &last)
		f.above(at.Child("nanoseconds"), l.Nanoseconds, 0, MaxNanoseconds, wantNanoseconds)
		f.relativeInterval(at, l.RelativeInterval, l.Repeats)
	}
}

// ascending wants values above 0 that grow from entry to entry.
func (f *faults) ascending(at *field.Path, v int64, last *int64) {
	if v <= *last {
		f.invalid(at, v, fmt.Sprintf("want more than %d, by ascending values", *last))
	}
	*last = max(*last, v)
}

func (f *faults) contention(p *field.Path, c *Capability) {
	if k := c.Contention; k != nil {
		at := p.Child("contention")
		f.within(at.Child("baseNanoseconds"), k.BaseNanoseconds, 0, MaxNanoseconds, wantFitted)
		f.within(at.Child("perThreadNanoseconds"), k.PerThreadNanoseconds, 0, MaxNanoseconds, wantFitted)
		f.halfWidth(at.Child("baseIntervalNanoseconds"), k.BaseIntervalNanoseconds)
		f.halfWidth(at.Child("perThreadIntervalNanoseconds"), k.PerThreadIntervalNanoseconds)
	}
	points := p.Child("contentionPoints")
	if !f.length(points, len(c.ContentionPoints), 0, MaxContentionPoints) {
		return
	}
	last := int64(0)
	for i, n := range c.ContentionPoints {
		at := points.Index(i)
		f.ascending(at.Child("threads"), int64(n.Threads), &last)
		f.above(at.Child("nanoseconds"), n.Nanoseconds, 0, MaxNanoseconds, wantNanoseconds)
		f.relativeInterval(at, n.RelativeInterval, n.Repeats)
	}
}

func (f *faults) halfWidth(at *field.Path, v *float64) {
	if v != nil {
		f.within(at, *v, 0, MaxNanoseconds, wantFitted)
	}
}

func (f *faults) transfers(p *field.Path, list []LinesTransfer) {
	if !f.length(p, len(list), 0, MaxTransfers) {
		return
	}
	type key struct{ place, state, access string }
	seen := map[key]bool{}
	for i, t := range list {
		at := p.Index(i)
		f.oneOf(at.Child("place"), t.Place, "tile", "remote")
		f.oneOf(at.Child("state"), t.State, "modified", "exclusive")
		f.oneOf(at.Child("access"), t.Access, "read", "copy")
		k := key{t.Place, t.State, t.Access}
		duplicate(f, at, seen, k, fmt.Sprintf("%s of %s lines, %s", k.access, k.state, k.place))
		f.within(at.Child("baseNanoseconds"), t.BaseNanoseconds, 0, MaxNanoseconds, wantFitted)
		f.within(at.Child("perLineNanoseconds"), t.PerLineNanoseconds, 0, MaxNanoseconds, wantFitted)
		f.halfWidth(at.Child("baseIntervalNanoseconds"), t.BaseIntervalNanoseconds)
		f.halfWidth(at.Child("perLineIntervalNanoseconds"), t.PerLineIntervalNanoseconds)
		f.transferPoints(at.Child("points"), t.Points)
	}
}

func (f *faults) transferPoints(p *field.Path, list []TransferPoint) {
	if !f.length(p, len(list), 0, MaxTransferPoints) {
		return
	}
	last := int64(0)
	for i, n := range list {
		at := p.Index(i)
		f.ascending(at.Child("lines"), int64(n.Lines), &last)
		f.above(at.Child("nanoseconds"), n.Nanoseconds, 0, MaxNanoseconds, wantNanoseconds)
		f.relativeInterval(at, n.RelativeInterval, n.Repeats)
	}
}

func (f *faults) loadedLatencies(p *field.Path, list []LoadedLatency) {
	if !f.length(p, len(list), 0, MaxLoadedLatencies) {
		return
	}
	type key struct {
		threads          int
		readShare, level float64
	}
	seen := map[key]bool{}
	for i, l := range list {
		at := p.Index(i)
		f.atLeast(at.Child("streamingThreads"), l.StreamingThreads, 1)
		f.share(at.Child("readShare"), l.ReadShare)
		f.above(at.Child("level"), l.Level, 0, 1, "want a part of the unpaced load, above 0 to 1")
		k := key{l.StreamingThreads, l.ReadShare, l.Level}
		duplicate(f, at, seen, k, fmt.Sprintf("%d threads, %v reads, level %v", k.threads, k.readShare, k.level))
		f.within(at.Child("bytesPerSecond"), l.BytesPerSecond, MinBytesPerSecond, MaxBytesPerSecond, "want bytes per second, 1e3 to 1e13 (is this in GB/s?)")
		f.above(at.Child("nanoseconds"), l.Nanoseconds, 0, MaxNanoseconds, wantNanoseconds)
		f.relativeInterval(at, l.RelativeInterval, l.Repeats)
	}
}
