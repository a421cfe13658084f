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

// auditor looks at the limits of running pods again and again, by the arguments of their
// schedulers: a limit that was kept when
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
	nodes, err := a.nodes()
	if err != nil {
		return err
	}
	remembered := a.remembered()
	pods, err := a.pods()
	if err != nil {
		return err
	}
	forget(remembered, pods)
	limited := map[*Plugin][]*v1.Pod{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && hasLimit(pod) && !view.Finished(pod) {
			p := a.pluginOf(pod)
			limited[p] = append(limited[p], pod)
		}
	}
	counts := map[verdict]int{verdictKept: 0, verdictExceeded: 0, verdictUnverifiable: 0}
	last := map[types.UID]verdict{}
	for p, own := range limited {
		cluster, err := p.surroundings(own, nodes, pods)
		if err != nil {
			return err
		}
		for _, pod := range own {
			v, note := p.audit(pod, cluster)
			if v == "" {
				continue
			}
			counts[v]++
			if v == verdictKept {
				continue
			}
			last[pod.UID] = v
			if a.last[pod.UID] != v {
				reason := map[verdict]string{verdictExceeded: reasonExceeded, verdictUnverifiable: reasonUnverifiable}[v]
				p.event(pod, v1.EventTypeWarning, reason, shorten(note))
			}
		}
	}
	a.last, a.limits = last, 0
	for v, n := range counts {
		a.limits += n
		a.plugin.metrics.limits.WithLabelValues(string(v)).Set(float64(n))
	}
	return nil
}

// remembered returns the pods that each plugin of the process remembers.
func (a *auditor) remembered() map[*Plugin]map[types.UID]bool {
	all := map[*Plugin]map[types.UID]bool{a.plugin: a.plugin.pods.remembered()}
	for _, value := range a.plugin.metrics.plugins.Range {
		p := value.(*Plugin) //nolint:errcheck,forcetypeassert // nothing else is stored
		all[p] = p.pods.remembered()
	}
	return all
}

// forget makes plugins forget remembered pods that are not among those listed afterward. A
// cycle that goes on while its pod is deleted remembers it after the handler has forgotten it.
func forget(remembered map[*Plugin]map[types.UID]bool, pods []*v1.Pod) {
	for p, gone := range remembered {
		for _, pod := range pods {
			delete(gone, pod.UID)
		}
		for uid := range gone {
			p.pods.forget(uid)
		}
	}
}

// pluginOf returns the plugin of the scheduler of a pod, by whose arguments it was placed;
// that of the auditor for a pod of another process.
func (a *auditor) pluginOf(pod *v1.Pod) *Plugin {
	if value, ok := a.plugin.metrics.plugins.Load(pod.Spec.SchedulerName); ok {
		return value.(*Plugin) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	return a.plugin
}

// surroundings returns the memory domains of running pods.
func (p *Plugin) surroundings(of []*v1.Pod, nodes []*v1.Node, pods []*v1.Pod) (*view.Cluster, error) {
	cluster, err := view.New(p.args, p.watch.profiles().advisor, p.now())
	if err != nil {
		return nil, err
	}
	concerned := map[string]bool{} // nodes
	for _, pod := range of {
		concerned[pod.Spec.NodeName] = true
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
	return cluster, nil
}

// audit returns the verdict on the limit of a running pod, and why it is not kept; none where
// it cannot be read, or its node is not known.
func (p *Plugin) audit(pod *v1.Pod, cluster *view.Cluster) (v verdict, note string) {
	resident, faults := view.ReadPod(pod)
	p.reportInvalid(pod, faults) // of a pod of another scheduler, or changed since
	if !resident.Limited() {
		return "", ""
	}
	said, known, err := cluster.Judge(resident, pod.Spec.NodeName)
	if err != nil || !known {
		return "", ""
	}
	return p.judge(&resident, &said)
}

// judge says whether a running pod keeps its limit now.
func (p *Plugin) judge(pod *occupancy.Resident, said *view.Verdict) (verdict, string) {
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
	if p.standIn != nil {
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
