package schedplugin

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/schedplugin/view"
)

// byNode is the name of the index of the scheduler's pod informer by node.
const byNode = "bandmate.dev/node"

// indexByNode makes onNode return the pods that the informer knows on a node.
func (p *Plugin) indexByNode(informer cache.SharedIndexInformer) error {
	if _, indexed := informer.GetIndexer().GetIndexers()[byNode]; !indexed { // else by another scheduler profile
		if err := informer.AddIndexers(cache.Indexers{byNode: nodeOfPod}); err != nil {
			return fmt.Errorf("index of pods by node: %w", err)
		}
	}
	p.onNode = func(node string) []*v1.Pod {
		found, _ := informer.GetIndexer().ByIndex(byNode, node) // the index is there
		pods := make([]*v1.Pod, 0, len(found))
		for _, o := range found {
			if pod, ok := o.(*v1.Pod); ok {
				pods = append(pods, pod)
			}
		}
		return pods
	}
	return nil
}

func nodeOfPod(o any) ([]string, error) {
	if pod, ok := o.(*v1.Pod); ok && pod.Spec.NodeName != "" {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}

// filterWhole holds the limits of residents that preemption for a group has taken out of the
// scheduler's snapshot: it takes out all pods of lower priority, on all nodes, before it
// looks where the group fits. It returns nil where no limit of such a pod is in the way.
func (c *cycle) filterWhole(ctx context.Context, info fwk.NodeInfo) *fwk.Status {
	_, state := c.stateOf(info)
	nodes := c.sharing(state.node)
	if !slices.ContainsFunc(nodes, c.plugin.hasLimits) {
		return nil
	}
	whole, limited := make([]wholeNode, len(nodes)), false
	for i, n := range nodes {
		now := info
		if n != state.node {
			var err error
			if now, err = c.plugin.handle.SnapshotSharedLister().NodeInfos().Get(n.Name); err != nil {
				return nil // the snapshot had it a moment ago
			}
		}
		gone := c.takenOut(now)
		whole[i] = wholeNode{now, slices.Concat(now.GetPods(), gone)}
		limited = limited || slices.ContainsFunc(gone, func(pod fwk.PodInfo) bool { return hasLimit(pod.GetPod()) })
	}
	if !limited {
		return nil
	}
	var own *occupancy.Node
	for i, n := range nodes {
		if nodes[i] = c.plugin.readNode(whole[i], c.profiles, nil).node; n == state.node {
			own = nodes[i]
		}
	}
	domain, err := c.prepare(nodes, own)
	if err != nil {
		c.failed(ctx, own.Name, err)
		return nil
	}
	if status := c.hold(ctx, info, state.machine, domain); status.Code() == fwk.UnschedulableAndUnresolvable {
		return status
	}
	return nil
}

// hasLimits reports whether a pod that is on a node in the cluster has a limit.
func (p *Plugin) hasLimits(n *occupancy.Node) bool {
	return slices.ContainsFunc(p.onNode(n.Name), func(pod *v1.Pod) bool { return hasLimit(pod) && !view.Finished(pod) })
}

// takenOut returns the pods that are on a node in the cluster, and not in info.
func (c *cycle) takenOut(info fwk.NodeInfo) []fwk.PodInfo {
	present := make(map[types.UID]bool, len(info.GetPods()))
	for _, pod := range info.GetPods() {
		present[pod.GetPod().UID] = true
	}
	var gone []fwk.PodInfo
	for _, pod := range c.plugin.onNode(info.Node().Name) {
		if !present[pod.UID] && !view.Finished(pod) {
			gone = append(gone, bare{pod: pod})
		}
	}
	return gone
}

// wholeNode is a node with other pods than in the scheduler's snapshot.
type wholeNode struct {
	fwk.NodeInfo
	pods []fwk.PodInfo
}

func (n wholeNode) GetPods() []fwk.PodInfo { return n.pods }

// bare is as much of a PodInfo as readNode uses.
type bare struct {
	fwk.PodInfo
	pod *v1.Pod
}

func (b bare) GetPod() *v1.Pod { return b.pod }
