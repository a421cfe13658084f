// Package results stores measurements of the scheduler in a control plane, each as a
// JSON file in docs/results/kubernetes, and writes the tables of
// docs/results/kubernetes.md from those files.
package results

//go:generate go test -count=1 -run ^TestDocument$ . -update
