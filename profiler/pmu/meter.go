package pmu

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/units"
)

// errBarelyRan means that others used the hardware's counters.
var errBarelyRan = errors.New("barely counted")

// meter is a plan with its counters open.
type meter struct {
	opener perf.Opener
	sys    fs.FS
	// online is the list of online CPUs at the latest look, at looked.
	online string
	looked time.Time
	// complete is whether every group counted in the latest sample.
	complete bool
	// moved lists the instances that were opened again on another CPU.
	moved []string
	live  []*live
	// byCPU are the same in the order in which they are read.
	byCPU []*live
}

func (m *meter) sortByCPU() {
	m.byCPU = slices.SortedStableFunc(slices.Values(m.live), func(a, b *live) int { return cmp.Compare(a.cpu, b.cpu) })
}

// live is an instance that counts.
type live struct {
	instance
	groups []*liveGroup
}

// liveGroup is a group that counts.
type liveGroup struct {
	events []counted
	group  perf.Group
	// now is the latest count, last that at the end of the latest complete
	// sample. current is the difference; carried is its part from before a move
	// to another CPU.
	now, last        perf.CounterSample
	delta            perf.CounterSample // reused
	current, carried tally
	// whole is what was counted in complete samples.
	whole tally
}

// tally adds up counts of a group over time. Totals that cannot be split count
// as read.
type tally struct {
	readBytes, writeBytes float64
	enabled, running      time.Duration
}

func (t tally) plus(o tally) tally {
	return tally{
		readBytes: t.readBytes + o.readBytes, writeBytes: t.writeBytes + o.writeBytes,
		enabled: t.enabled + o.enabled, running: t.running + o.running,
	}
}

func tallied(events []counted, d perf.CounterSample) tally {
	t := tally{enabled: d.Enabled, running: d.Running}
	for i, e := range events {
		bytes := float64(d.Values[i]) * e.bytes
		if e.kind == catalog.Write {
			t.writeBytes += bytes
		} else {
			t.readBytes += bytes
		}
	}
	return t
}

// traffic returns the counts ÷ the time in which the group was counting.
func (t tally) traffic() units.Traffic {
	seconds := t.running.Seconds()
	if seconds <= 0 {
		return units.Traffic{}
	}
	return units.Traffic{Read: units.Bandwidth(t.readBytes / seconds), Write: units.Bandwidth(t.writeBytes / seconds)}
}

// open opens all counters of a plan, or none.
func open(p plan, opener perf.Opener, sys fs.FS) (m *meter, err error) {
	m = &meter{opener: opener, sys: sys}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
			m = nil
		}
	}()
	if m.online, err = onlineCPUs(sys); err != nil {
		return m, err
	}
	for _, i := range p.instances {
		groups, err := openGroups(opener, i.cpu, i.groups)
		if err != nil {
			return m, err
		}
		m.live = append(m.live, &live{instance: i, groups: groups})
	}
	m.sortByCPU()
	return m, nil
}

// openGroups opens all groups on a CPU, or none. Some drivers refuse groups
// (arm_dmc620_pmu): their events are then opened one by one.
func openGroups(opener perf.Opener, cpu int, all [][]counted) (opened []*liveGroup, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeGroups(opened))
			opened = nil
		}
	}()
	for _, events := range all {
		g, err := openGroup(opener, cpu, events)
		if err == nil {
			opened = append(opened, g)
			continue
		}
		if !errors.Is(err, syscall.EINVAL) || len(events) == 1 {
			return opened, err
		}
		for _, e := range events {
			g, err := openGroup(opener, cpu, []counted{e})
			if err != nil {
				return opened, err
			}
			opened = append(opened, g)
		}
	}
	return opened, nil
}

func closeGroups(groups []*liveGroup) error {
	var faults []error
	for _, g := range groups {
		faults = append(faults, g.group.Close())
	}
	return errors.Join(faults...)
}

func openGroup(opener perf.Opener, cpu int, events []counted) (*liveGroup, error) {
	plain := make([]perf.Event, len(events))
	for i, e := range events {
		plain[i] = e.Event
	}
	group, err := opener.OpenCPU(cpu, plain)
	if err != nil {
		return nil, err
	}
	g := &liveGroup{events: events, group: group}
	if err := group.Read(&g.now); err != nil {
		return nil, errors.Join(err, group.Close())
	}
	g.mark()
	return g, nil
}

// mark makes the latest reading the start of a new sample.
func (g *liveGroup) mark() {
	g.last.Values = append(g.last.Values[:0], g.now.Values...)
	g.last.Enabled, g.last.Running = g.now.Enabled, g.now.Running
}

// close closes every counter, whatever fails.
func (m *meter) close() error {
	var faults []error
	for _, l := range m.live {
		faults = append(faults, closeGroups(l.groups))
	}
	m.live, m.byCPU = nil, nil
	return errors.Join(faults...)
}

// restart discards everything counted so far.
func (m *meter) restart() error {
	for _, l := range m.live {
		for _, g := range l.groups {
			if err := g.group.Read(&g.now); err != nil {
				return err
			}
			g.mark()
			g.carried, g.whole = tally{}, tally{}
		}
	}
	return nil
}

// sample reads every counter and returns the traffic since the previous complete
// sample; false when some group has not counted since then. The last sample ends
// the measurement, complete or not.
func (m *meter) sample(last bool) (units.Traffic, bool, error) {
	if last || !m.complete || time.Since(m.looked) >= lookEvery {
		if err := m.followCPUs(); err != nil {
			return units.Traffic{}, false, err
		}
	}
	if err := m.readAll(); err != nil {
		return units.Traffic{}, false, fmt.Errorf("%w; measure again", err)
	}
	complete := true
	var sum units.Traffic
	for _, l := range m.live {
		for _, g := range l.groups {
			d, err := g.sinceLast()
			if err != nil {
				return units.Traffic{}, false, fmt.Errorf("%s: %w; measure again without other tools that program the counters", l.name, err)
			}
			complete = complete && d.running > 0
			if l.memory == catalog.DRAM {
				sum = sum.Add(d.traffic())
			}
			g.current = d
		}
	}
	m.complete = complete
	if !complete && !last {
		return units.Traffic{}, false, nil
	}
	for _, l := range m.live {
		for _, g := range l.groups {
			g.whole = g.whole.plus(g.current)
			g.carried = tally{}
			g.mark()
		}
	}
	return sum, complete, nil
}

// readAll reads every counter, those of one CPU after the other and on it.
func (m *meter) readAll() (err error) {
	var v visitor
	defer func() { err = errors.Join(err, v.leave()) }()
	for i, l := range m.byCPU {
		if i == 0 || l.cpu != m.byCPU[i-1].cpu {
			v.visit(l.cpu, m.groupsFrom(i))
		}
		for _, g := range l.groups {
			if err := g.group.Read(&g.now); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupsFrom counts the groups of the i-th to be read and of those after it on
// its CPU.
func (m *meter) groupsFrom(i int) int {
	n := 0
	for _, l := range m.byCPU[i:] {
		if l.cpu != m.byCPU[i].cpu {
			break
		}
		n += len(l.groups)
	}
	return n
}

// sinceLast is what a group counted since the latest complete sample.
func (g *liveGroup) sinceLast() (tally, error) {
	if err := g.delta.Between(g.last, g.now); err != nil {
		return tally{}, err
	}
	return g.carried.plus(tallied(g.events, g.delta)), nil
}

// finish returns an error when a group counted for too small a share of the time.
func (m *meter) finish() error {
	for _, l := range m.live {
		for _, g := range l.groups {
			if share := g.whole.share(); share < tasks.LeastRunningShare {
				return fmt.Errorf("%s on CPU %d: %w: its counters were free for %.1f%% of the time, want at least %g%%; end other users of perf (another monitor, the NMI watchdog), or measure for longer",
					g.events[0].Label, l.cpu, errBarelyRan, 100*share, 100*tasks.LeastRunningShare)
			}
		}
	}
	return nil
}

// share is the share of the time in which the group was counting.
func (t tally) share() float64 {
	if t.enabled <= 0 {
		return 0
	}
	return min(t.running.Seconds()/t.enabled.Seconds(), 1)
}

const onlineFile = "devices/system/cpu/online"

func onlineCPUs(sys fs.FS) (string, error) {
	data, err := fs.ReadFile(sys, onlineFile)
	if err != nil {
		return "", fmt.Errorf("reading the online CPUs: %w", err)
	}
	return string(data), nil
}

// lookEvery is how often to look for CPUs that went offline. A counter that
// stands still is a reason to look earlier.
const lookEvery = time.Second

// followCPUs reopens the counters of devices that no longer name their CPU, as
// after that CPU went offline. It looks only when the list of online CPUs changed.
func (m *meter) followCPUs() error {
	m.looked = time.Now()
	online, err := onlineCPUs(m.sys)
	if err != nil || online == m.online {
		return err
	}
	m.online = online
	for _, l := range m.live {
		if l.device == "" {
			continue // not of a device with a cpumask
		}
		cpus, _, err := sysfs.CPUMask(m.sys, l.device)
		if err != nil {
			return err
		}
		if cpus.Contains(l.cpu) {
			continue
		}
		successor := -1
		for _, cpu := range cpus.List() {
			if !m.reads(l.device, cpu) && m.sameSocket(cpu, l.instance) {
				successor = cpu
				break
			}
		}
		if successor < 0 {
			return fmt.Errorf("%s: CPU %d, where its counters were read, went offline, and its cpumask %q names no other of that socket: %w; put the CPU online and measure again",
				l.device, l.cpu, cpus, perf.ErrVanished)
		}
		if err := m.move(l, successor); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) reads(device string, cpu int) bool {
	for _, l := range m.live {
		if l.device == device && l.cpu == cpu {
			return true
		}
	}
	return false
}

// sameSocket reads a CPU's socket anew: it may have come online only now.
func (m *meter) sameSocket(cpu int, i instance) bool {
	if i.socket < 0 {
		return true
	}
	socket, err := sysfs.Socket(m.sys, cpu)
	return err == nil && socket == i.socket
}

// move reopens an instance on another CPU and keeps its counts. The time in
// between is not counted.
func (m *meter) move(l *live, cpu int) error {
	var layout [][]counted
	for _, g := range l.groups {
		layout = append(layout, g.events)
	}
	opened, err := openGroups(m.opener, cpu, layout)
	if err != nil {
		return fmt.Errorf("%s moved from CPU %d to %d: %w", l.name, l.cpu, cpu, err)
	}
	for i, g := range l.groups {
		// What cannot be read any more is lost together with its time.
		if err := g.group.Read(&g.now); err == nil {
			if d, err := g.sinceLast(); err == nil {
				opened[i].carried = d
			}
		}
		opened[i].whole = g.whole
	}
	err = closeGroups(l.groups)
	m.moved = append(m.moved, fmt.Sprintf("%s moved from CPU %d to CPU %d", l.name, l.cpu, cpu))
	l.groups, l.cpu = opened, cpu
	m.sortByCPU()
	return err
}
