// Package pmu measures memory traffic with hardware counters: those of the
// memory controllers, of the resctrl file system, and of the last-level cache.
//
// Package catalog lists the counters, package sysfs reads what the kernel says
// about them, and package perf opens and reads them. This package makes sources of
// package profiler of them.
package pmu

import (
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

// MemoryControllers returns the sources that count at the memory controllers or
// just before them, in order of preference. They are the most accurate ones.
func MemoryControllers(h *Host) []profiler.Source {
	var sources []profiler.Source
	for _, name := range catalog.Sources() {
		sources = append(sources, &controllers{host: h, name: name})
	}
	return sources
}

// CoreSide returns the sources that count in cores and caches, in order of
// preference. They miss a part of the traffic and do not split reads and writes,
// but they separate a command from the rest of the machine.
func CoreSide(h *Host) []profiler.Source {
	return []profiler.Source{monitoring{host: h}, misses{host: h}}
}

// Sources returns every counter source: [MemoryControllers], then [CoreSide]. A
// source without counters ranks between the two.
func Sources(h *Host) []profiler.Source {
	return append(MemoryControllers(h), CoreSide(h)...)
}

// SplitsReadWrite reports whether s is a source of this package that counts reads
// and writes separately, which the profile of an application needs.
func SplitsReadWrite(s profiler.Source) bool {
	c, ok := s.(*controllers)
	if !ok {
		return false
	}
	for _, r := range rowsOf(c.name) {
		if !r.SplitsReadWrite() {
			return false
		}
	}
	return true
}
