// Package catalog lists the perf devices that count traffic at the memory controllers,
// the events to read, and the bytes that a count stands for. It is data: [Rows] is the
// one table, from which the documentation is generated, and [Matcher.Choose] finds the
// rows that fit a machine's devices.
package catalog

import (
	"regexp"
	"slices"
	"strings"

	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

//go:generate go run ./generate ../../../docs/guides/counters.md

// Kind is the direction of what an event counts.
type Kind string

const (
	// Read is traffic from memory.
	Read Kind = "read"
	// Write is traffic to memory.
	Write Kind = "write"
	// Total is both in one count.
	Total Kind = "total"
)

// Memory is the technology behind a memory controller.
type Memory string

const (
	// DRAM on memory modules; the zero value, and what a summary's totals are.
	DRAM Memory = ""
	// HBM is memory in the processor's package.
	HBM Memory = "HBM"
	// Persistent is Optane: traffic to the media behind the modules' buffers.
	Persistent Memory = "persistent"
)

// Event is one event of a device.
type Event struct {
	// Kind tells what it counts.
	Kind Kind
	// Name is the kernel's in the folder events; empty where the kernel names
	// none.
	Name string
	// Terms describe the event by the fields of the folder format; empty when the
	// kernel's description is used.
	Terms string
	// Bytes a count stands for.
	Bytes float64
	// Remote marks traffic caused by other sockets. It is not read on a machine of
	// one socket.
	Remote bool
}

// CPU is an x86 processor by vendor, family and one of several models.
type CPU struct {
	Vendor string
	Family int
	// Models are those of the family; nil means all.
	Models []int
}

// Vendors as CPUID names them.
const (
	Intel = "GenuineIntel"
	AMD   = "AuthenticAMD"
)

// Row is one way to count on one family of platforms.
type Row struct {
	// Platform is for people: "Intel Sapphire Rapids, Emerald Rapids".
	Platform string
	// Source is the name users select, see [Sources].
	Source string
	// Device is the pattern of the device's name: # stands for a decimal number,
	// * for a hexadecimal one.
	Device string
	// Events are read together where the device has enough counters.
	Events []Event
	// CPUs on which Terms hold whatever the kernel says; nil where Terms hold on
	// every processor with such a device.
	CPUs []CPU
	// Memory is the memory behind the controller. All but DRAM is reported
	// separately.
	Memory Memory
	// FreeRunning counters cannot be programmed and never stop. They count the same
	// as the regular ones of the controller, and are read only without these.
	FreeRunning bool
	// Channel is true when a device instance is one memory channel.
	Channel bool
	// Unlocated is true when the CPU of the device's cpumask does not tell which
	// socket or node the device belongs to. Without a cpumask, any CPU will do.
	Unlocated bool
	// OwnNode is true when the CPU of the cpumask lies on the very NUMA node whose
	// memory the device controls, also where a socket has several.
	OwnNode bool
	// Requires is a file under /sys without which there is nothing to count.
	Requires string
	// Module is the kernel module or option that provides the device.
	Module string
	// Kernel is the first Linux version whose driver does.
	Kernel string
	// Basis is where the row comes from.
	Basis string
	// Notes are for the documentation; Doubt is what may be wrong with a result,
	// and becomes a warning.
	Notes, Doubt string
}

// pattern turns a device pattern into a regular expression.
func pattern(device string) *regexp.Regexp {
	text := regexp.QuoteMeta(device)
	text = strings.ReplaceAll(text, "#", "[0-9]+")
	text = strings.ReplaceAll(text, `\*`, "[0-9a-f]+")
	return regexp.MustCompile("^" + text + "$")
}

// Is reports whether c includes p.
func (c CPU) Is(p sysfs.Processor) bool {
	if c.Vendor != p.Vendor || c.Family != p.Family {
		return false
	}
	if slices.Contains(c.Models, p.Model) {
		return true
	}
	return c.Models == nil
}

// runsOn reports whether the row names the processor.
func (r Row) runsOn(p sysfs.Processor) bool {
	for _, c := range r.CPUs {
		if c.Is(p) {
			return true
		}
	}
	return false
}

// SplitsReadWrite reports whether reads and writes are counted separately.
func (r Row) SplitsReadWrite() bool {
	for _, e := range r.Events {
		if e.Kind == Total {
			return false
		}
	}
	return true
}
