// Package manifests holds the tests of what a cluster installs: the chart, the
// kustomizations that are made from it, and whether a cluster accepts and obeys
// both.
package manifests

//go:generate go test -count=1 -run TestGenerated . -update
