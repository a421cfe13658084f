// Package view looks at a cluster as the scheduler plugin does, from its nodes
// and pods, without a scheduler: for people who ask what it would do, and why.
//
// It is pure: objects come in, verdicts go out.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/units"
)

// Cluster is nodes with their pods, as the plugin sees them.
type Cluster struct {
	args    *config.BandmateArgs
	roster  *advisor.Advisor
	scorer  *score.Scorer
	now     time.Time
	nodes   map[string]*node
	domains map[string][]*node // the nodes that share a memory domain
	// Warnings say what of the cluster's objects cannot be read.
	Warnings []string
}

// node is what one node brings.
type node struct {
	name, domain, machine string
	unschedulable         bool
	residents             []resident
	measured              *v1alpha1.MeasuredTraffic
}

// resident is a pod on a node.
type resident struct {
	Pod
	entry advisor.Entry
}

// New returns a cluster of nodes without pods. It fails on arguments that the
// plugin would refuse.
func New(args *config.BandmateArgs, r *advisor.Advisor, now time.Time) (*Cluster, error) {
	options := score.Options{Objective: args.Objective, Unknown: args.UnknownApplications}
	if options.Unknown == score.Assume {
		standIn, err := predictor.Assumed("assumed", units.TrafficOf(args.AssumedBandwidth, args.AssumedReadShare))
		if err != nil {
			return nil, err
		}
		options.StandIn = standIn
	}
	scorer, err := score.New(options)
	if err != nil {
		return nil, err
	}
	return &Cluster{args: args, roster: r, scorer: scorer, now: now, nodes: map[string]*node{}, domains: map[string][]*node{}}, nil
}

// AddNode takes a node in.
func (c *Cluster) AddNode(n *v1.Node) {
	added := &node{
		name: n.Name, domain: n.Labels[v1alpha1.MemoryDomainLabel], machine: n.Labels[v1alpha1.MachineLabel],
		unschedulable: n.Spec.Unschedulable,
	}
	if text, ok := n.Annotations[v1alpha1.MeasuredTrafficAnnotation]; ok {
		m, err := v1alpha1.ParseMeasuredTraffic(text)
		switch {
		case err != nil:
			c.warn("node %s: %v", n.Name, err)
		case c.now.Sub(m.Time.Time).Abs() > c.args.MeasuredTrafficMaxAge.Duration:
			c.warn("node %s: the measured traffic is of %s and not used: does its agent run?", n.Name, m.Time.UTC().Format(time.RFC3339))
		default:
			added.measured = &m
		}
	}
	c.nodes[n.Name] = added
	c.domains[added.key()] = append(c.domains[added.key()], added)
}

// key is the name of the node's memory domain. No label has a slash in front.
func (n *node) key() string {
	if n.domain == "" {
		return "/" + n.name
	}
	return n.domain
}

func (c *Cluster) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// AddPod takes a pod in that is on a node which was added; others, those that
// are finished and those that do not concern the plugin are left out.
func (c *Cluster) AddPod(p *v1.Pod) {
	n := c.nodes[p.Spec.NodeName]
	if n == nil || Finished(p) {
		return
	}
	pod, faults := ReadPod(p)
	for _, fault := range faults {
		c.warn("pod %s/%s: %v", p.Namespace, p.Name, fault)
	}
	if !c.Concerns(pod) {
		return
	}
	n.residents = append(n.residents, resident{pod, c.roster.Lookup(pod.Application, n.machine)})
}

// Concerns reports whether a pod takes part in the reckoning at all.
func (c *Cluster) Concerns(p Pod) bool {
	return p.Application != "" || c.args.UnlabeledPods == config.UnlabeledUnknown
}

// Verdict is what the plugin thinks of a node for a pod.
type Verdict struct {
	Node string
	// Unschedulable is true for a node that is cordoned.
	Unschedulable bool
	// Machine is the node's, empty when it is not labeled.
	Machine string
	// Newcomer is what is known of the pod's application on the node.
	Newcomer advisor.Entry
	Score    score.Score
	// Residents are the pods of the domain and what is known of them, in the
	// order of Score.Residents.
	Residents []Resident
	// Background is the measured traffic of everybody else; nil when it was not
	// measured.
	Background *units.Traffic
}

// Resident is a pod beside the newcomer.
type Resident struct {
	Pod   Pod
	Node  string
	Entry advisor.Entry
}

// Rejected reports whether a limit keeps the pod away from the node.
func (v Verdict) Rejected() bool { return v.Score.OverLimit > 0 }

// Judge returns the verdict on one node, which must have been added; false
// otherwise. A pod that is there already does not meet itself.
func (c *Cluster) Judge(p Pod, name string) (Verdict, bool, error) {
	n := c.nodes[name]
	if n == nil {
		return Verdict{}, false, nil
	}
	v := Verdict{Node: name, Machine: n.machine, Unschedulable: n.unschedulable, Newcomer: c.roster.Lookup(p.Application, n.machine)}
	domain := score.Domain{Name: cmp.Or(n.domain, name)}
	for _, member := range c.domains[n.key()] {
		c.addMember(&v, &domain, p, n, member)
	}
	v.Background = domain.Background
	var err error
	v.Score, err = c.scorer.Score(p.job(v.Newcomer, name), domain)
	return v, true, err
}

// addMember adds a node's pods and background to the domain of the node at
// which the newcomer is looked at.
//
// A pod pinned to a NUMA node meets the node's other pods unless they are pinned
// to another one; pods of other nodes of the domain it meets all.
func (c *Cluster) addMember(v *Verdict, domain *score.Domain, p Pod, at, member *node) {
	var here []score.Job
	for _, r := range member.residents {
		job := r.job(r.entry, member.name)
		if r.UID != "" && r.UID == p.UID {
			// What it causes is part of the measurement, and not of the background.
			here = append(here, job)
			continue
		}
		here = append(here, job)
		if member == at && p.NUMANode != nil && r.NUMANode != nil && *p.NUMANode != *r.NUMANode {
			continue
		}
		domain.Residents = append(domain.Residents, job)
		v.Residents = append(v.Residents, Resident{r.Pod, member.name, r.entry})
	}
	if member.measured == nil {
		return
	}
	background := score.Background(member.measured.Traffic(), here)
	if domain.Background != nil {
		background = background.Add(*domain.Background)
	}
	domain.Background = &background
}

// Rank returns the verdicts on all nodes, the best first: no limit exceeded,
// then what need not be avoided, then the least cost, then by name.
func (c *Cluster) Rank(p Pod) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(c.nodes))
	for name := range c.nodes {
		v, _, err := c.Judge(p, name)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(score.Compare(a.Score, b.Score), cmp.Compare(a.Node, b.Node))
	})
	return verdicts, nil
}
