// Package results keeps what was measured of the scheduler in a control plane,
// one JSON file for each measurement in docs/results/kubernetes, and writes the
// tables of docs/results/kubernetes.md from those files.
package results

//go:generate go test -count=1 -run ^TestDocument$ . -update
