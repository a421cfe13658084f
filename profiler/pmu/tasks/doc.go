// Package tasks finds the threads of running processes and of cgroups, and
// counts what threads do on CPUs.
//
// A perf counter of a process counts one thread. So every thread is found in
// /proc and gets a counter of its own, which the threads and processes that it
// starts later inherit.
package tasks
