package pmu

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/topology"
)

// instance is one place where a device is read: a CPU of its cpumask, which
// stands for the device in that socket or die.
type instance struct {
	name string
	// device is empty when it has no cpumask.
	device string
	cpu    int
	// socket is -1 and node nil when it is not known where the device is.
	socket int
	node   *int
	memory catalog.Memory
	// groups are the events that are scheduled together.
	groups [][]counted
}

// counted is an event with what a count of it means.
type counted struct {
	perf.Event
	kind  catalog.Kind
	bytes float64
}

// plan is what a source reads on a machine.
type plan struct {
	instances []instance
	// splitsReadWrite is false when reads and writes are counted together.
	splitsReadWrite bool
	// channels is how many memory channels are counted; 0 when that is not known.
	channels int
	warnings []string
}

// found is a source's plan for this machine and what it leaves out.
type found struct {
	plan
	// devices counts the devices with the source's names; rejected are those that
	// cannot be read, with the reason.
	devices  int
	rejected []catalog.Rejected
}

// groupSize is the number of events that are scheduled together: a read and a
// write. A larger group would never run on a device with two counters.
const groupSize = 2

// find looks for the devices of a source.
func (h *Host) find(source string) (found, error) {
	matcher := catalog.NewMatcher(rowsOf(source))
	names, err := sysfs.Names(h.Sys)
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, nil
	}
	if err != nil {
		return found{}, err
	}
	var devices []sysfs.Device
	for _, name := range names {
		if !matcher.Knows(name) {
			continue
		}
		device, err := sysfs.Read(h.Sys, name)
		if err != nil {
			return found{}, err
		}
		devices = append(devices, device)
	}
	processor, err := sysfs.ReadProcessor(h.Proc)
	if err != nil {
		return found{}, err
	}
	choices, rejected := matcher.Choose(devices, catalog.Platform{
		Processor: processor,
		Sockets:   h.Machine.Sockets(),
		Has:       func(name string) bool { _, err := fs.Stat(h.Sys, name); return err == nil },
	})
	f := found{devices: len(devices), rejected: rejected}
	f.splitsReadWrite = true
	for _, c := range choices {
		f.add(c, h.Machine)
	}
	f.warnOfMissing(choices)
	return f, nil
}

// namedDevices is how many devices a warning names before it counts the rest.
const namedDevices = 3

// warnOfMissing names the devices that cannot be read, in one warning for each
// reason. Free-running devices beside regular ones are no loss.
func (f *found) warnOfMissing(choices []catalog.Choice) {
	if len(f.instances) == 0 {
		return // unavailable, for the reason of one of them
	}
	var spare []func(string) bool
	if slices.ContainsFunc(choices, func(c catalog.Choice) bool { return !c.Row.FreeRunning }) {
		for _, r := range catalog.Rows() {
			if r.FreeRunning {
				spare = append(spare, catalog.NewMatcher([]catalog.Row{r}).Knows)
			}
		}
	}
	devices := map[string][]string{}
	var reasons []string
	for _, r := range f.rejected {
		if slices.ContainsFunc(spare, func(is func(string) bool) bool { return is(r.Device) }) {
			continue
		}
		if devices[r.Reason] == nil {
			reasons = append(reasons, r.Reason)
		}
		devices[r.Reason] = append(devices[r.Reason], r.Device)
	}
	for _, reason := range reasons {
		names := devices[reason]
		if more := len(names) - namedDevices; more > 0 {
			names = append(slices.Clone(names[:namedDevices]), fmt.Sprintf("%d more", more))
		}
		f.warn(fmt.Sprintf("the traffic of %s is missing: %s", strings.Join(names, ", "), reason))
	}
}

func rowsOf(source string) []catalog.Row {
	return slices.DeleteFunc(catalog.Rows(), func(r catalog.Row) bool { return r.Source != source })
}

// add plans the reading of a device on every CPU of its cpumask.
func (f *found) add(c catalog.Choice, m *topology.Machine) {
	cpus, device := c.Device.CPUs.Intersection(m.Online()), c.Device.Name
	if c.Row.Unlocated && !c.Device.HasCPUMask {
		cpus, device = cpuset.New(m.CPUs[0].ID), "" // any: older drivers choose the CPU themselves
	}
	if cpus.IsEmpty() {
		f.rejected = append(f.rejected, catalog.Rejected{
			Source: c.Row.Source, Device: c.Device.Name,
			Reason: fmt.Sprintf("its cpumask, %q, names no CPU that is online", c.Device.CPUs),
		})
		return
	}
	f.splitsReadWrite = f.splitsReadWrite && (c.Row.SplitsReadWrite() || c.Row.Memory != catalog.DRAM)
	for _, note := range c.Notes {
		f.warn(note)
	}
	if c.Row.Doubt != "" {
		f.warn(c.Row.Doubt)
	}
	if c.Row.FreeRunning {
		f.warn("free-running counters are read, because the regular ones of the memory controllers are not offered")
	}
	for _, cpu := range cpus.List() {
		i := instance{
			name: c.Device.Name, device: device, cpu: cpu, socket: -1, memory: c.Row.Memory,
			groups: groups(c),
		}
		if cpus.Size() > 1 {
			i.name = fmt.Sprintf("%s@%d", c.Device.Name, cpu)
		}
		if !c.Row.Unlocated || m.Sockets() == 1 {
			i.socket, i.node = locate(m, cpu)
		}
		if c.Row.OwnNode {
			i.node = nodeOf(m, cpu)
		}
		f.instances = append(f.instances, i)
		if c.Row.Channel && c.Row.Memory == catalog.DRAM {
			f.channels++
		}
	}
}

// warn keeps a warning once.
func (p *plan) warn(text string) {
	if !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}

func groups(c catalog.Choice) [][]counted {
	var events []counted
	for i, e := range c.Events {
		label := c.Device.Name + "/" + e.Terms
		if e.Name != "" {
			label = c.Device.Name + "/" + e.Name
		}
		events = append(events, counted{
			Event: perf.Event{Label: label, Type: c.Device.Type, Code: c.Codes[i]},
			kind:  e.Kind, bytes: e.Bytes,
		})
	}
	size := groupSize
	if !c.Row.SplitsReadWrite() {
		size = 1 // totals need no partner that counts at the same time
	}
	return slices.Collect(slices.Chunk(events, size))
}

// locate returns the socket of a device's CPU, and its node where the socket has
// one: the devices of all nodes of a socket name the same CPU.
func locate(m *topology.Machine, cpu int) (socket int, node *int) {
	socket = -1
	if c, ok := m.CPU(cpu); ok {
		socket = c.Socket
	}
	nodes := map[int]bool{}
	for _, c := range m.CPUs {
		if c.Socket == socket {
			nodes[c.Node] = true
		}
	}
	for id := range nodes {
		if len(nodes) == 1 && id >= 0 {
			node = &id
		}
	}
	return socket, node
}

func nodeOf(m *topology.Machine, cpu int) *int {
	if c, ok := m.CPU(cpu); ok && c.Node >= 0 {
		return &c.Node
	}
	return nil
}
