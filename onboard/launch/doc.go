// Package launch runs programs on chosen CPUs and memory nodes, each with a time limit,
// and leaves nothing of them running, whatever ends the program that started them.
package launch
