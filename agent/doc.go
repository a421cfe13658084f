// Package agent keeps a node's entry in a Kubernetes cluster true: which
// machine it is, which memory domain it belongs to, and how much traffic its
// memory controllers carry. The scheduler reads all three; the last one lets
// the traffic of pods without a profile count.
//
// It changes its own node and nothing else of the cluster, and of the node only
// labels and annotations of bandmate.dev.
package agent
