package schedplugin

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/schedplugin/view"
)

// Bounds of the audit of limits.
const (
	auditEvery = 30 * time.Second
	// auditRest bounds its part of a CPU to a twentieth.
	auditRest = 20
)

// verdict is what an audit says of the limit of a running pod.
type verdict string

const (
	verdictKept         verdict = "kept"
	verdictExceeded     verdict = "exceeded"
	verdictUnverifiable verdict = "unverifiable"
)

// auditor looks at the limits of running pods again and again: a limit that was kept when
// the pod was placed stops holding when its profile is deleted, a node changes its
// machine, or another scheduler places a pod beside it. It reads the informers and not
// the scheduler's snapshot, which belongs to scheduling cycles.
type auditor struct {
	plugin *Plugin
	nodes  func() ([]*v1.Node, error)
	pods   func() ([]*v1.Pod, error)
	// last are the verdicts other than kept of the last audit, and limits is how many
	// verdicts it counted.
	last   map[types.UID]verdict
	limits int
}

func (p *Plugin) newAuditor() *auditor {
	core := p.handle.SharedInformerFactory().Core().V1()
	return &auditor{
		plugin: p, last: map[types.UID]verdict{},
		nodes: func() ([]*v1.Node, error) { return core.Nodes().Lister().List(labels.Everything()) },
		pods:  func() ([]*v1.Pod, error) { return core.Pods().Lister().List(labels.Everything()) },
	}
}

// run audits until ctx ends, while this process leads.
func (a *auditor) run(ctx context.Context) {
	wait := auditEvery
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = auditEvery
		if a.idle() || !leads(legacyregistry.DefaultGatherer) {
			continue
		}
		start := time.Now()
		if err := a.audit(); err != nil {
			klog.FromContext(ctx).Error(err, "Limits cannot be audited")
		}
		wait = max(auditEvery, auditRest*time.Since(start))
	}
}

// idle reports whether no pod has a limit, and none had one at the last audit.
func (a *auditor) idle() bool { return !a.plugin.pods.anyLimit() && a.limits == 0 }

// leads reports whether this process holds the lease of the scheduler, or needs none:
// client-go tells by a metric, which is absent without an election.
func leads(g metrics.Gatherer) bool {
	families, _ := g.Gather() // returns what it could gather beside an error
	for _, f := range families {
		if f.GetName() != "leader_election_master_status" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetGauge().GetValue() > 0 {
				return true
			}
		}
		return len(f.GetMetric()) == 0
	}
	return true
}

// audit judges the limits of all running pods, counts the verdicts and writes an event
// where a limit stopped holding.
func (a *auditor) audit() error {
	limited, cluster, err := a.cluster()
	if err != nil {
		return err
	}
	counts := map[verdict]int{verdictKept: 0, verdictExceeded: 0, verdictUnverifiable: 0}
	last := map[types.UID]verdict{}
	for _, pod := range limited {
		resident, faults := view.ReadPod(pod)
		a.plugin.reportInvalid(pod, faults) // of a pod of another scheduler, or changed since
		if !resident.Limited() {
			continue
		}
		said, known, err := cluster.Judge(resident, pod.Spec.NodeName)
		if err != nil || !known {
			continue
		}
		v, note := a.judge(&resident, &said)
		counts[v]++
		if v == verdictKept {
			continue
		}
		last[pod.UID] = v
		if a.last[pod.UID] != v {
			reason := map[verdict]string{verdictExceeded: reasonExceeded, verdictUnverifiable: reasonUnverifiable}[v]
			a.plugin.event(pod, v1.EventTypeWarning, reason, shorten(note))
		}
	}
	a.last, a.limits = last, 0
	for v, n := range counts {
		a.limits += n
		a.plugin.metrics.limits.WithLabelValues(string(v)).Set(float64(n))
	}
	return nil
}

// cluster returns the running pods with limits, and the memory domains where they are.
func (a *auditor) cluster() ([]*v1.Pod, *view.Cluster, error) {
	cluster, err := view.New(a.plugin.args, a.plugin.watch.profiles().advisor, a.plugin.now())
	if err != nil {
		return nil, nil, err
	}
	nodes, err := a.nodes()
	if err != nil {
		return nil, nil, err
	}
	pods, err := a.pods()
	if err != nil {
		return nil, nil, err
	}
	var limited []*v1.Pod
	concerned := map[string]bool{} // nodes
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && hasLimit(pod) && !view.Finished(pod) {
			limited = append(limited, pod)
			concerned[pod.Spec.NodeName] = true
		}
	}
	domains := map[string]bool{}
	domainOf := make(map[string]string, len(nodes))
	for _, n := range nodes {
		read, _ := view.ReadNode(n)
		domainOf[n.Name] = read.Domain
		if read.Domain != "" && concerned[n.Name] {
			domains[read.Domain] = true
		}
	}
	for _, n := range nodes {
		if concerned[n.Name] || domains[domainOf[n.Name]] {
			cluster.AddNode(n)
		}
	}
	for _, pod := range pods {
		cluster.AddPod(pod) // of other nodes are left out
	}
	return limited, cluster, nil
}

// judge says whether a running pod keeps its limit now.
func (a *auditor) judge(pod *occupancy.Resident, said *view.Verdict) (verdict, string) {
	if sensitivity, _ := known(said.Newcomer.Application); !sensitivity {
		return verdictUnverifiable, fmt.Sprintf("%s cannot be checked: %s", limitOf(pod), said.Newcomer.Reason)
	}
	pod.Entry = &said.Newcomer
	switch e := said.Score.Newcomer; {
	case !e.OverLimit():
	case e.Limit == pod.Limit:
		return verdictExceeded, fmt.Sprintf("predicted %s with the pods that are on %s now, the limit is %s", e.After, said.Node, pod.Limit)
	default:
		return verdictExceeded, fmt.Sprintf("with the pods that are on %s now: %s", said.Node, pod.Exceeded("this pod", e))
	}
	if why := pod.Unverifiable("this pod"); why != "" {
		return verdictUnverifiable, fmt.Sprintf("%s cannot be checked: %s", limitOf(pod), why)
	}
	if a.plugin.standIn != nil {
		return verdictKept, ""
	}
	for i, r := range said.Residents {
		if _, traffic := known(r.Entry.Application); !traffic && !said.Measured(i) {
			name := unseen
			if r.Namespace == pod.Namespace {
				name = r.Namespace + "/" + r.Name
			}
			return verdictUnverifiable, fmt.Sprintf("%s cannot be checked: the traffic of %s is not known", limitOf(pod), name)
		}
	}
	return verdictKept, ""
}

// limitOf names what a pod is limited by.
func limitOf(pod *occupancy.Resident) string {
	switch {
	case pod.Limit != 0:
		return fmt.Sprintf("the limit of %s", pod.Limit)
	case pod.Demand.MaxP99 != 0:
		return fmt.Sprintf("the p99 of at most %s", pod.Demand.MaxP99)
	}
	return fmt.Sprintf("the load of %.6g requests per second", pod.Demand.Load)
}
