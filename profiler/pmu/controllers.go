package pmu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// ErrNothingCounted means that all counters stayed at zero although memory was in
// use. It wraps [profiler.ErrInconclusive].
var ErrNothingCounted = fmt.Errorf("%w: every counter stayed at zero", profiler.ErrInconclusive)

// controllers is a source of the catalog: counters outside the cores, mostly
// of the memory controllers.
type controllers struct {
	host *Host
	name string
}

var _ profiler.Source = (*controllers)(nil)

func (s *controllers) Name() string { return s.name }

// Available looks for devices and opens the counters of one for a moment.
func (s *controllers) Available(context.Context) profiler.Availability {
	f, err := s.host.find(s.name)
	if err != nil {
		return profiler.Availability{State: profiler.Inconclusive, Reason: err.Error()}
	}
	if len(f.instances) == 0 {
		return s.host.missing(s.name, f)
	}
	i := f.instances[0]
	opened, err := openGroups(s.host.Opener, i.cpu, i.groups)
	if err := errors.Join(err, closeGroups(opened)); err != nil {
		return s.host.refused(err)
	}
	return profiler.Availability{State: profiler.Usable}
}

// backgroundWindow is how long the machine is watched before and after a
// command.
const backgroundWindow = 150 * time.Millisecond

// Measure counts while w runs. Beside a command it counts the whole machine, and
// watches the background for a moment before and after.
func (s *controllers) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	return measured(ctx, s, w, func(interval time.Duration) (profiler.Summary, error) {
		f, err := s.host.find(s.name)
		if err != nil {
			return profiler.Summary{}, err
		}
		m, err := open(f.plan, s.host.Opener, s.host.Sys)
		if err != nil {
			return profiler.Summary{}, err
		}
		summary, err := s.measure(ctx, w, interval, m, f)
		return summary, errors.Join(err, m.close())
	})
}

func (s *controllers) measure(ctx context.Context, w profiler.Workload, interval time.Duration, m *meter, f found) (profiler.Summary, error) {
	var background *profiler.Background
	if w.Run != nil {
		before, err := m.watch(ctx, backgroundWindow)
		if err != nil {
			return profiler.Summary{}, err
		}
		background = &profiler.Background{BeforeBytesPerSecond: float64(before.Total())}
	}
	elapsed, line, err := m.follow(ctx, w, interval)
	if err != nil {
		return profiler.Summary{}, err
	}
	result := s.summarize(m, f, elapsed, line)
	if background != nil {
		after, err := m.watch(ctx, backgroundWindow)
		if err != nil {
			return profiler.Summary{}, err
		}
		background.AfterBytesPerSecond = float64(after.Total())
		result.Counters.Background = background
		result.Warnings = append(result.Warnings, backgroundWarning(*background, result)...)
	}
	if result.Total() == 0 {
		return profiler.Summary{}, nothingCounted(result.Counters.OtherMemory)
	}
	return result, nil
}

// nothingCounted is the error of a total of zero.
func nothingCounted(others []profiler.MemoryTraffic) error {
	for _, other := range others {
		if other.Total() > 0 {
			return fmt.Errorf("%w: no memory module moved anything, and %s memory, which totals leave out, moved %.1f GB/s; use the source probe",
				profiler.ErrUnsupported, other.Memory, other.Total().GBps())
		}
	}
	return fmt.Errorf("%w: they do not work on this machine, or count nothing", ErrNothingCounted)
}

// follow counts while w runs.
func (m *meter) follow(ctx context.Context, w profiler.Workload, interval time.Duration) (time.Duration, profiler.Timeline, error) {
	line := newTimeline(interval)
	if err := m.restart(); err != nil {
		return 0, line, err
	}
	elapsed, err := follow(ctx, w, interval, func(elapsed time.Duration, last bool) error {
		traffic, complete, err := m.sample(last)
		if err == nil && complete {
			line.Add(elapsed.Seconds(), traffic)
		}
		return err
	})
	if err == nil {
		err = m.finish()
	}
	return elapsed, line, err
}

// watch returns the mean traffic over a window.
func (m *meter) watch(ctx context.Context, window time.Duration) (units.Traffic, error) {
	if err := m.restart(); err != nil {
		return units.Traffic{}, err
	}
	if err := (profiler.Workload{Duration: window}).Wait(ctx); err != nil {
		return units.Traffic{}, err
	}
	traffic, _, err := m.sample(true)
	return traffic, err
}

// summarize adds up what a meter counted.
func (s *controllers) summarize(m *meter, f found, elapsed time.Duration, line profiler.Timeline) profiler.Summary {
	details := &profiler.Counters{LeastRunningShare: 1, RelativeSpread: line.RelativeSpread()}
	result := profiler.Summary{
		Source: s.name, Seconds: elapsed.Seconds(), Timeline: line.Samples, Scope: profiler.ScopeMachine,
		Counters: details, Warnings: slices.Clone(f.warnings),
	}
	var total units.Traffic
	sockets, nodes, apart := map[int]units.Traffic{}, map[int]units.Traffic{}, map[catalog.Memory]units.Traffic{}
	allSockets, allNodes := true, true
	for _, l := range m.live {
		var r units.Traffic
		for _, g := range l.groups {
			r = r.Add(g.whole.traffic())
			details.LeastRunningShare = min(details.LeastRunningShare, g.whole.share())
		}
		if l.memory != catalog.DRAM {
			apart[l.memory] = apart[l.memory].Add(r)
			continue
		}
		total = total.Add(r)
		channel := profiler.ChannelTraffic{Name: l.name, Node: l.node, Traffic: r}
		if l.socket >= 0 {
			channel.Socket = new(l.socket)
			sockets[l.socket] = sockets[l.socket].Add(r)
		}
		if l.node != nil {
			nodes[*l.node] = nodes[*l.node].Add(r)
		}
		allSockets, allNodes = allSockets && l.socket >= 0, allNodes && l.node != nil
		details.Channels = append(details.Channels, channel)
	}
	result.Traffic = total
	if share, ok := result.Traffic.ReadShare(); ok && f.splitsReadWrite {
		result.ReadShare = new(float64(share))
	}
	if allSockets {
		for _, id := range slices.Sorted(maps.Keys(sockets)) {
			details.Sockets = append(details.Sockets, profiler.SocketTraffic{Socket: id, Traffic: sockets[id]})
		}
	}
	if allNodes {
		for _, id := range slices.Sorted(maps.Keys(nodes)) {
			result.PerNode = append(result.PerNode, profiler.NodeTraffic{Node: id, Traffic: nodes[id]})
		}
	}
	for _, memory := range slices.Sorted(maps.Keys(apart)) {
		details.OtherMemory = append(details.OtherMemory, profiler.MemoryTraffic{Memory: string(memory), Traffic: apart[memory]})
	}
	details.TheoreticalPeakBytesPerSecond = s.host.peak(f.channels)
	result.Warnings = append(result.Warnings, doubts(result, m, allNodes, s.host.Machine.Nodes)...)
	return result
}

// sharedCounters is the running share below which a summary warns of multiplexing.
const sharedCounters = 0.98

const multiplexed = "the counters were multiplexed: some counted for %.0f%% of the time, and the rest was extrapolated"

// aboveThePeak leaves room for modules that run a little faster than they say.
const aboveThePeak = 1.02

// doubts are what may be wrong with a result.
func doubts(s profiler.Summary, m *meter, allNodes bool, nodes []topology.Node) []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	c := s.Counters
	if c.LeastRunningShare < sharedCounters {
		warn(multiplexed, 100*c.LeastRunningShare)
	}
	if !allNodes && len(nodes) > 1 {
		warn("traffic is not divided by NUMA node: a socket has several nodes, or the counters do not say where they are")
	}
	if peak := c.TheoreticalPeakBytesPerSecond; peak != nil && float64(s.Traffic.Total()) > aboveThePeak**peak {
		warn("%s is above the theoretical peak of the memory modules, %.0f GB/s: something is counted twice, or the scale is wrong; do not use this figure",
			s.Traffic.Total(), *peak/1e9)
	}
	for _, other := range c.OtherMemory {
		if other.Total() > 0 {
			warn("%s memory moved another %.1f GB/s, which the totals leave out", other.Memory, other.Total().GBps())
		}
	}
	for _, n := range nodes {
		if n.CPUs.IsEmpty() && n.MemoryBytes > 0 && len(c.OtherMemory) == 0 {
			warn("NUMA node %d has memory but no CPUs: traffic of CXL memory and of accelerators is not counted", n.ID)
		}
	}
	if len(m.moved) > 0 {
		warn("CPUs went offline meanwhile: %s; the moment between is left out", strings.Join(m.moved, ", "))
	}
	return list
}

// backgroundShare is the share of the traffic above which background traffic is
// reported.
const backgroundShare = 0.05

func backgroundWarning(b profiler.Background, s profiler.Summary) []string {
	mean := (b.BeforeBytesPerSecond + b.AfterBytesPerSecond) / 2
	if total := float64(s.Traffic.Total()); !(mean > backgroundShare*total) || total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the machine moved %.2f GB/s before and %.2f GB/s after the command; the result includes what else ran, so measure on an idle machine",
		b.BeforeBytesPerSecond/1e9, b.AfterBytesPerSecond/1e9)}
}

// peak is the theoretical bandwidth of the machine's memory modules; nil where
// the firmware's tables cannot be read, as by users other than root.
func (h *Host) peak(channels int) *float64 {
	modules, err := sysfs.Modules(h.Sys)
	if err != nil {
		return nil
	}
	peak, err := sysfs.Peak(modules, channels)
	if err != nil {
		return nil
	}
	return &peak
}
