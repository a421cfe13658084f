// Package agent publishes on a Kubernetes node which machine it is, which memory
// domain it belongs to, and how much traffic its memory controllers carry. The
// scheduler reads all three; the traffic lets pods without a profile count.
//
// The agent changes nothing but the bandmate.dev labels and annotations of its node.
package agent
