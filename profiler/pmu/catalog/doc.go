// Package catalog knows which perf devices count traffic at the memory
// controllers, which of their events to read, and how many bytes a count stands
// for. It is data: [Rows] is the one table, from which the documentation is
// generated, and [Choose] finds the rows that fit a machine's devices.
package catalog

//go:generate go run ./generate ../../../docs/guides/counters.md
