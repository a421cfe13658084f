// Package schedplugin is the Kubernetes scheduler plugin Bandmate: pods go where
// they and their neighbors lose least to contention for memory, and no pod is
// taken above the slowdown that its annotation allows.
//
// The arithmetic is that of predictor/score and the profiles are those of
// advisor; here is only what joins them to the scheduling framework:
//
//   - watch.go keeps the profiles of the cluster, snapshot.go what a cycle sees
//   - pod.go and node.go read labels and annotations
//   - domains.go keeps a prepared memory domain for every node, rows.go has
//     what a look at every node needs side by side
//   - filter.go enforces limits, score.go ranks, bind.go says why, when announcer.go
//     has time
//   - requeue.go tries again what a limit rejected
//
// Nothing in a scheduling cycle waits for a lock, the network or a disk:
// profiles come from an atomic pointer, nodes from the scheduler's own snapshot.
// Whatever is missing or cannot be read (the custom resources, a profile, a
// label) makes a pod unknown, which the arguments say what to do about, and is
// counted in a metric; pods that Bandmate knows nothing of are scheduled as
// though the plugin did not exist.
package schedplugin
