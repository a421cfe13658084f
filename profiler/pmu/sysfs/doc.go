// Package sysfs reads the perf devices (PMUs) that a kernel lists under
// /sys/bus/event_source/devices, and turns event descriptions into the numbers
// that perf_event_open(2) takes. Everything is read from an fs.FS whose root is
// that of sysfs; nothing here opens a counter.
//
// A file that is not as the kernel documents it
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-*) is an error that
// names the file and wraps [sysfile.ErrMalformed].
package sysfs
