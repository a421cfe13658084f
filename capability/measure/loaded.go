package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

// The loads beside which latency is measured.
const (
	// warmup is how long a load runs before anything is measured beside it.
	warmup = 20 * time.Millisecond
	// alone is how long its bandwidth is measured, aloneTimes how often. The
	// highest counts, because other programs can only lower it.
	alone      = 30 * time.Millisecond
	aloneTimes = 5
)

// offCPU bounds the share of its time that a load may be off its CPU.
const offCPU = 0.02

// least is below the bandwidth of any load that runs.
const least units.Bandwidth = v1alpha1.MinBytesPerSecond

func loadLevels() []float64 { return []float64{0.25, 0.5, 0.75, 1} }

// loadReadShares returns the mixes of the load: reads alone, and as many writes as
// reads.
func loadReadShares() []units.ReadShare { return []units.ReadShare{1, 0.5} }

// loaded measures the latency of memory on the first CPU while the others stream,
// 1, 2, 4 … and all of them, paced to parts of what they reach alone.
func (r *runner) loaded() []section {
	streaming := len(r.options.CPUs) - 1
	if streaming < 1 {
		r.warn("latency under load was not measured: it takes two CPUs")
		return nil
	}
	var sections []section
	for _, n := range counts(streaming) {
		sections = append(sections, r.loadedBeside(r.options.CPUs[1:1+n]))
	}
	return sections
}

func (r *runner) loadedBeside(cpus []int) section {
	l := &load{chase: chase{cpu: r.options.CPUs[0], size: r.options.MemoryBytes}}
	s := section{
		open:  func(ctx context.Context) error { return l.open(ctx, cpus, r.options.MemoryBytes) },
		close: l.close,
	}
	for _, share := range loadReadShares() {
		for _, level := range loadLevels() {
			s.values = append(s.values, value{
				what: fmt.Sprintf("latency under load, threads: %d, reads: %v, level %v", len(cpus), share, level),
				once: func() (float64, error) { return l.once(share, level) },
				keep: func(m Median) {
					if l.achieved(m) < least {
						r.warn("latency under load, threads: %d, reads: %v, level %v: the load made no traffic; free its CPUs of other programs", len(cpus), share, level)
						return
					}
					r.capability().LoadedLatencies = append(r.capability().LoadedLatencies, v1alpha1.LoadedLatency{
						StreamingThreads: len(cpus), ReadShare: float64(share), Level: level, BytesPerSecond: float64(l.achieved(m)),
						Nanoseconds: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
					})
				},
			})
		}
	}
	return s
}

// load is an interferer beside which a ring is followed.
type load struct {
	chase
	interferer *interferer.Interferer
	most       map[units.ReadShare]units.Bandwidth
	setting    interferer.Setting
	// traffic is what the interferer made in each measurement with the setting,
	// disturbed that of repeats in which something else took a CPU.
	traffic, disturbed []float64
}

func (l *load) open(ctx context.Context, cpus []int, bytes int64) error {
	if err := l.chase.open(); err != nil {
		return err
	}
	var err error
	l.interferer, err = interferer.Start(ctx, interferer.Options{CPUs: cpuset.New(cpus...), BufferBytes: bytes, AllowAllCPUs: true})
	if err != nil {
		return fmt.Errorf("latency under load of %d threads was %w: %w", len(cpus), errSkip, err)
	}
	l.most = map[units.ReadShare]units.Bandwidth{}
	for _, share := range loadReadShares() {
		if err := l.apply(interferer.Setting{Mode: interferer.Stream, ReadShare: share}); err != nil {
			return err
		}
		for range aloneTimes {
			before := l.interferer.Counters()
			time.Sleep(alone)
			l.most[share] = max(l.most[share], l.interferer.Counters().Since(before).Traffic.Total())
		}
		if l.most[share] < least {
			return fmt.Errorf("latency under load of %d threads was %w: other programs keep the load from its CPUs", len(cpus), errSkip)
		}
	}
	return nil
}

func (l *load) apply(s interferer.Setting) error {
	if err := l.interferer.Apply(s); err != nil {
		return err
	}
	l.setting, l.traffic, l.disturbed = s, nil, nil
	time.Sleep(warmup)
	return nil
}

// once measures the latency beside a load, which it sets if it has changed.
func (l *load) once(share units.ReadShare, level float64) (float64, error) {
	setting := interferer.Setting{Mode: interferer.Stream, ReadShare: share}
	if level < 1 {
		setting.Bandwidth = l.most[share] * units.Bandwidth(level)
	}
	if setting != l.setting {
		if err := l.apply(setting); err != nil {
			return 0, err
		}
	}
	before, begin := l.interferer.Counters(), time.Now()
	nanoseconds, err := l.chase.once()
	made := l.interferer.Counters().Since(before)
	// A load that is off its CPU does not count its time.
	if err == nil && (made.OffCPUShare > offCPU || made.Elapsed < time.Since(begin)/2) {
		err = errDisturbed
	}
	if err == nil {
		l.traffic = append(l.traffic, float64(made.Traffic.Total()))
	} else if errors.Is(err, errDisturbed) {
		l.disturbed = append(l.disturbed, float64(made.Traffic.Total()))
	}
	return nanoseconds, err
}

// achieved returns the median traffic of the load in the repeats that count.
func (l *load) achieved(m Median) units.Bandwidth {
	traffic := l.traffic
	if m.Mixed {
		traffic = slices.Concat(l.traffic, l.disturbed)
	}
	return units.Bandwidth(medianOf(traffic).Value)
}

func (l *load) close() error {
	if l.interferer != nil {
		if err := l.interferer.Close(); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	return l.chase.close()
}
