// Package pmu measures memory traffic with hardware counters: those of the
// memory controllers, of the resctrl file system, and of the last-level cache.
//
// Which counters there are and what they mean is data ([catalog.Rows]); what
// the kernel says about them is read from sysfs (package sysfs); package perf
// opens and reads them. Here they become sources of package profiler.
package pmu
