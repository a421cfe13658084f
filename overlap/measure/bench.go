package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// bench holds the streams and the link at one placement of their data.
type bench struct {
	options Options
	// streams compute, on one CPU each.
	streams []*interferer.Interferer
	link    *link
	memory  *memory.Buffer
	share   units.ReadShare
	// part is the bandwidth of a part of a core; 0 where cores are whole.
	part units.Bandwidth
	// taken is the largest share of a sample in which others had a computing CPU.
	taken    float64
	warnings []string
}

const (
	// leastStream is the least buffer of a computing core.
	leastStream = 64 << 20
	// warmup passes before a condition is measured.
	warmup = 30 * time.Millisecond
	// disturbed is the share of a sample from which on other programs matter.
	disturbed = 0.02
	// lifetime bounds the life of an orphaned stream.
	lifetime = 24 * time.Hour
)

func newBench(ctx context.Context, o Options, at overlap.Placement) (b *bench, err error) {
	b = &bench{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.share = kernel.Best().MinReadShare(); b.share > 0 {
		b.warnings = append(b.warnings, fmt.Sprintf("this CPU has no non-temporal stores here: computing cores make traffic of %s instead", b.share))
	}
	for _, cpu := range o.Cores.Computing {
		s, err := interferer.Start(ctx, interferer.Options{
			CPUs: cpuset.New(cpu), MemoryNode: &at.ComputationNode,
			LastLevelCacheBytes: o.LastLevelCacheBytes, BufferBytes: max(leastStream, 2*o.LastLevelCacheBytes),
			MaxDuration: lifetime,
		})
		if err != nil {
			return b, fmt.Errorf("stream on CPU %d: %w", cpu, err)
		}
		b.streams = append(b.streams, s)
		b.warnings = append(b.warnings, s.Warnings()...)
	}
	// More messages in a row than a cache can hold.
	messages := max(1, (2*o.LastLevelCacheBytes+o.MessageBytes-1)/o.MessageBytes)
	if b.memory, err = newMemory(messages*o.MessageBytes, at.CommunicationNode); err != nil {
		return b, err
	}
	if b.link, err = newLink(ctx, o.Connect, o.Cores, b.memory.Bytes()); err != nil {
		return b, err
	}
	if o.Parts > 1 {
		if err := b.divide(ctx); err != nil {
			return b, err
		}
	}
	return b, nil
}

// divide measures the unpaced bandwidth of one core alone.
func (b *bench) divide(ctx context.Context) error {
	if err := b.streams[0].Apply(b.setting(0)); err != nil {
		return err
	}
	b.link.set(linkSpin)
	top, err := b.window(ctx, 1)
	if err != nil {
		return err
	}
	b.part = top.Computation * full / units.Bandwidth(b.options.Parts)
	return b.quiet()
}

// setting returns a stream of a bandwidth; unpaced for 0.
func (b *bench) setting(bandwidth units.Bandwidth) interferer.Setting {
	return interferer.Setting{Mode: interferer.Stream, ReadShare: b.share, Bandwidth: bandwidth}
}

func (b *bench) tag(ctx context.Context) (regime.Tag, error) {
	if err := b.quiet(); err != nil {
		return regime.Tag{}, err
	}
	if err := sleep(ctx, patience+nap); err != nil {
		return regime.Tag{}, err
	}
	return regime.Probe(ctx, b.options.Cores.Receiver, b.options.Cores.Computing[0])
}

// quiet idles all threads.
func (b *bench) quiet() error {
	b.link.set(linkIdle)
	for _, s := range b.streams {
		if err := s.Apply(interferer.Setting{Mode: interferer.Idle}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) sample(ctx context.Context, c condition, cores int) (overlap.Bandwidths, error) {
	busy := (cores + b.options.Parts - 1) / b.options.Parts
	for i, s := range b.streams {
		setting := interferer.Setting{Mode: interferer.Idle}
		switch {
		case i >= busy:
		case c == communicationAlone:
			setting.Mode = interferer.Spin
		case b.options.Parts == 1:
			setting = b.setting(0)
		default:
			parts := min(b.options.Parts, cores-i*b.options.Parts)
			setting = b.setting(b.part * units.Bandwidth(parts))
		}
		if err := s.Apply(setting); err != nil {
			return overlap.Bandwidths{}, err
		}
	}
	b.link.set(linkRun)
	if c == computationAlone {
		b.link.set(linkSpin)
	}
	got, err := b.window(ctx, busy)
	if err != nil {
		return got, err
	}
	if c != communicationAlone && !(got.Computation > 0) || c != computationAlone && !(got.Communication > 0) {
		return got, errNoTraffic
	}
	return got, nil
}

// window measures the current condition after a warm-up.
func (b *bench) window(ctx context.Context, busy int) (overlap.Bandwidths, error) {
	if err := sleep(ctx, warmup); err != nil {
		return overlap.Bandwidths{}, err
	}
	before := make([]interferer.Counters, busy)
	for i := range before {
		before[i] = b.streams[i].Counters()
	}
	began, received := time.Now(), b.link.received.Load()
	err := sleep(ctx, b.options.Window)
	elapsed := time.Since(began).Seconds()
	got := overlap.Bandwidths{Communication: units.Bandwidth(float64(b.link.received.Load()-received) / elapsed)}
	for i := range before {
		achieved := b.streams[i].Counters().Since(before[i])
		got.Computation += achieved.Traffic.Total()
		b.taken = max(b.taken, achieved.OffCPUShare)
		err = errors.Join(err, b.streams[i].Err())
	}
	return got, errors.Join(err, b.link.failed())
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// doubts returns the warnings after measuring.
func (b *bench) doubts() []string {
	if b.taken < disturbed {
		return b.warnings
	}
	return append(b.warnings, fmt.Sprintf(
		"other programs had a computing CPU for up to %.0f%% of a sample: measure on a free machine", 100*b.taken))
}

// close ends everything.
func (b *bench) close() error {
	var faults []error
	if b.link != nil {
		faults = append(faults, b.link.close())
	}
	for _, s := range b.streams {
		// An earlier end was an error of a sample.
		_ = s.Close()
	}
	return errors.Join(append(faults, b.memory.Free())...)
}
