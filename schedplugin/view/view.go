// Package view reads the pods and nodes of a Kubernetes cluster and predicts, without a
// scheduler, what the scheduler plugin would do with a pod, and why. It is pure: no I/O.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/service"
)

// Cluster is nodes with their pods, as the plugin sees them.
type Cluster struct {
	// Warnings name the objects and annotations that are ignored.
	Warnings []string

	args          *config.BandmateArgs
	advisor       *advisor.Advisor
	scorer        *score.Scorer
	now           time.Time
	occupancy     occupancy.Cluster
	unschedulable map[string]bool  // by node
	seats         map[string]Seats // by node
	unseated      bool             // whether a warning says that the cache of a pod is not known
	serving       map[servingKey]advisor.Entry
	unverifiable  map[string]bool // reasons that a warning names
}

// servingKey is a service with a demand on a machine.
type servingKey struct {
	service.Demand

	application, machine string
}

// New returns an empty cluster. It fails on arguments that the plugin refuses.
func New(args *config.BandmateArgs, a *advisor.Advisor, now time.Time) (*Cluster, error) {
	options, err := args.ScoreOptions()
	if err != nil {
		return nil, err
	}
	scorer, err := score.New(options)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		args: args, advisor: a, scorer: scorer, now: now, unschedulable: map[string]bool{}, seats: map[string]Seats{},
		serving: map[servingKey]advisor.Entry{}, unverifiable: map[string]bool{},
	}, nil
}

// lookup returns the profile of a pod on a machine, with its demand as a service.
func (c *Cluster) lookup(pod *occupancy.Resident, machine string) advisor.Entry {
	if pod.Demand == (service.Demand{}) {
		return c.advisor.Lookup(pod.Application, machine)
	}
	key := servingKey{pod.Demand, pod.Application, machine}
	entry, ok := c.serving[key]
	if !ok {
		entry = c.advisor.Lookup(pod.Application, machine)
		served, err := c.advisor.Serve(entry, pod.Demand)
		if err != nil {
			c.warn("application %s: %v", pod.Application, err)
		} else {
			entry = served
		}
		c.serving[key] = entry
	}
	return entry
}

// AddNode adds a node.
func (c *Cluster) AddNode(n *v1.Node) {
	node, err := ReadNode(n)
	if err != nil {
		c.warn("node %s: %v", n.Name, err)
	}
	if m := node.Measured; m != nil && !m.Fresh(c.now, c.args.MeasuredTrafficMaxAge.Duration) {
		c.warn("node %s: the measured traffic is of %s and does not count: is the agent running?", n.Name, m.Time.UTC().Format(time.RFC3339))
	}
	seats, err := ReadSeats(n, c.advisor.SharedCaches(node.Machine))
	if err != nil {
		c.warn("node %s: %v", n.Name, err)
	}
	c.seats[n.Name], node.Caches = seats, seats.Of("")
	c.occupancy.Add(node)
	c.unschedulable[n.Name] = n.Spec.Unschedulable
}

func (c *Cluster) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// AddPod adds a pod to its node, which must have been added. Pods without such a node,
// finished pods, and pods that the plugin ignores are left out.
func (c *Cluster) AddPod(p *v1.Pod) {
	n := c.occupancy.Node(p.Spec.NodeName)
	if n == nil || Finished(p) {
		return
	}
	pod, faults := ReadPod(p)
	for _, fault := range faults {
		c.warn("pod %s/%s: %v", p.Namespace, p.Name, fault)
	}
	if c.Counts(pod) {
		seats, entry := c.seats[n.Name], c.lookup(&pod, n.Machine)
		pod.Entry, pod.Caches = &entry, seats.Of(pod.ID)
		c.warnUnseated(&pod, n)
		n.Residents = append(n.Residents, &pod)
	}
}

// warnUnseated says once that it is not known of a pod which of several caches it uses,
// where that matters.
func (c *Cluster) warnUnseated(pod *occupancy.Resident, n *occupancy.Node) {
	app := pod.Entry.Application
	if c.unseated || app == nil || !app.SharesCache() || pod.Caches.Len() == 1 || n.Domain != "" || len(c.advisor.SharedCaches(n.Machine)) == 0 {
		return
	}
	c.unseated = true
	c.warn("pod %s/%s on %s, and perhaps others, may use any of several shared caches: slowdowns are means over those", pod.Namespace, pod.Name, n.Name)
}

// warnUnverifiable says once why limits of a pod at a node cannot be checked, where that
// does not keep it away.
func (c *Cluster) warnUnverifiable(pod *occupancy.Resident) {
	why := pod.Unverifiable("this pod")
	if why == "" || c.unverifiable[why] {
		return
	}
	c.unverifiable[why] = true
	c.warn("limits of this pod cannot be checked on %s, and perhaps others: %s", pod.Node, why)
}

// Counts reports whether the plugin takes a pod into account at all.
func (c *Cluster) Counts(pod occupancy.Resident) bool { return c.args.Counts(pod.Application) }

// Verdict is what the plugin thinks of a node for a pod.
type Verdict struct {
	// Node is the node, and Machine its machine, empty where it is not labeled.
	Node, Machine string
	// Unschedulable is true for a node that is cordoned.
	Unschedulable bool
	// Newcomer is the pod's profile on the node.
	Newcomer advisor.Entry
	Score    score.Score
	// Neighbors are the pods of the domain, in the order of Score.Residents, and the
	// measured traffic of everybody else.
	occupancy.Neighbors
	// Unverifiable is why a limit cannot be checked there, where that keeps pods away;
	// empty otherwise.
	Unverifiable string
}

// Rejected reports whether a limit keeps the pod away from the node.
func (v Verdict) Rejected() bool { return v.Score.OverLimit > 0 || v.Unverifiable != "" }

// Judge returns the verdict on one node, which must have been added; false
// otherwise.
func (c *Cluster) Judge(pod occupancy.Resident, node string) (Verdict, bool, error) {
	n := c.occupancy.Node(node)
	if n == nil {
		return Verdict{}, false, nil
	}
	seats, entry := c.seats[n.Name], c.lookup(&pod, n.Machine)
	pod.Node, pod.Entry, pod.Caches = n.Name, &entry, seats.Of(pod.ID)
	v := Verdict{
		Node: node, Machine: n.Machine, Unschedulable: c.unschedulable[node], Newcomer: entry,
		Neighbors: c.occupancy.DomainOf(n).Neighbors(&pod, n, c.now, c.args.MeasuredTrafficMaxAge.Duration),
	}
	if c.args.UnverifiableLimits == config.UnverifiableRejected {
		assumed := c.args.UnknownApplications == score.Assume
		name := func(r *occupancy.Resident) string { return r.Namespace + "/" + r.Name }
		v.Unverifiable = occupancy.Unverifiable(&pod, v.Residents, v.Measured, assumed, name)
	}
	if v.Unverifiable == "" {
		c.warnUnverifiable(&pod)
	}
	var err error
	v.Score, err = c.scorer.Score(pod.Job(), v.Domain())
	return v, true, err
}

// Rank returns the verdicts on all nodes, the best first: no limit that cannot be checked
// and keeps pods away, no limit exceeded, then what need not be avoided, then the least cost, then by name.
func (c *Cluster) Rank(pod occupancy.Resident) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(c.occupancy.Nodes()))
	for _, n := range c.occupancy.Nodes() {
		v, _, err := c.Judge(pod, n.Name)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(min(len(a.Unverifiable), 1), min(len(b.Unverifiable), 1)), score.Compare(a.Score, b.Score), cmp.Compare(a.Node, b.Node))
	})
	return verdicts, nil
}
