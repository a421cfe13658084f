// Package schedplugin is the Kubernetes scheduler plugin Bandmate: it places pods
// where they and their neighbors lose least to contention for memory, and nowhere
// above the slowdown that an annotation allows.
//
// For each pod the scheduler calls, in this order:
//
//   - PreFilter (filter.go) reads the pod and begins a cycle
//   - Filter (filter.go) rejects nodes where a limit would be exceeded
//   - Score (score.go) estimates the cost of each node, from several goroutines
//   - NormalizeScore (score.go) scores the best nodes exactly, and turns costs into 0
//     to 100
//   - Reserve and PostBind (bind.go) report the prediction
//
// All of them ask for the state of a node (nodes.go) and of its memory domain
// (domains.go). Both are cached: a node is read again when the scheduler's copy of it
// or the profiles changed, and a domain is prepared again when one of its nodes did.
//
// Load and p99 of a service become a limit of its slowdown, the highest at which it keeps
// both (advisor.Serving), and are held as other limits are.
//
// The rest keeps up with the cluster: profiles.go and watch.go have the profiles,
// members.go the nodes that share a domain, pods.go and requeue.go the pods that wait.
//
// A scheduling cycle waits for no lock, network or disk. What is missing or cannot be
// read (custom resources, a profile, a label) makes a pod unknown, which the arguments
// say how to treat, and shows in a metric. Pods that do not count are scheduled as
// without the plugin.
package schedplugin
