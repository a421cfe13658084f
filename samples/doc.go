// Package samples holds small applications that put memory to use in the ways
// real ones do: streaming, chasing pointers, sparse and structured solvers,
// sorting, and arithmetic that needs no memory. Each does a fixed, repeatable
// amount of work on one thread and checks its own result, so its wall time
// alone and beside others can be compared.
//
// The memory of a sample lies outside the Go heap, on huge pages where the
// kernel grants them, and is released when the run ends; the garbage collector
// has nothing to do. Working sets are 86 to 128 MiB, meant for last-level
// caches of up to 32 MiB per core complex; on a machine with a larger cache
// the samples cause less traffic than they do elsewhere.
package samples
