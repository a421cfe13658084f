// Package occupancy models which jobs run in which memory domain of a cluster, and which
// of them a newcomer shares memory with. Kubernetes and Slurm fill it in; package score
// evaluates it. The package is pure: no I/O.
package occupancy

import (
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// Resident is a job or pod, on a node or on its way to one.
type Resident struct {
	// ID identifies it in the cluster; empty for one that is not there yet.
	ID string
	// Namespace is that of a pod.
	Namespace, Name string
	// Node is where it runs, and names the network card that it uses.
	Node string
	// Application names its application; empty when unknown.
	Application string
	// Entry is the profile of the application on the node's machine, which it shares with
	// others of the application; nil counts as one that is not known.
	Entry *advisor.Entry
	// Fast approximates the application, for estimates; nil where the profile is
	// missing or no estimates are needed.
	Fast *fast.Model
	// CPUs is the number of its CPUs.
	CPUs float64
	// Limit is the highest slowdown that it tolerates; zero means any.
	Limit units.Slowdown
	// Demand is what is asked of it as a service, for which Entry is made by
	// advisor.Serve.
	Demand service.Demand
	// NUMANode is the NUMA node that it is pinned to.
	NUMANode NUMANode
	// Caches are the last-level caches of its memory domain where it may run.
	Caches predictor.Caches
	// Since is when it began to run; zero for one that does not run yet.
	Since time.Time
}

// Job returns the resident as the score sees it.
func (r *Resident) Job() score.Job {
	job := score.Job{Name: r.Name, Application: r.application(), CPUs: r.CPUs, Limit: r.Limit, Card: r.Node, Caches: r.Caches}
	if v := r.serving(); v != nil {
		job.Serving, job.Limit = v, v.Tightest(r.Limit)
	}
	return job
}

func (r *Resident) application() *predictor.Application {
	if r.Entry == nil {
		return nil
	}
	return r.Entry.Application
}

func (r *Resident) serving() *advisor.Serving {
	if r.Entry == nil {
		return nil
	}
	return r.Entry.Serving
}

// Limited reports whether the resident has a limit, or a demand as a service.
func (r *Resident) Limited() bool { return r.Limit != 0 || r.Demand != (service.Demand{}) }

// Unverifiable says why the limits of the resident, called by name, cannot be checked in
// full; empty where they can be.
func (r *Resident) Unverifiable(name string) string {
	sensitivity := false
	if a := r.application(); a != nil {
		sensitivity, _ = a.Known()
	}
	switch v := r.serving(); {
	case !r.Limited():
		return ""
	case !sensitivity:
		return fmt.Sprintf("no profile says how %s slows down on that machine", name)
	case r.Demand != (service.Demand{}) && v == nil:
		return fmt.Sprintf("the profile of %s has no load sweep: onboard it with --service", name)
	case v != nil && v.Fault != nil:
		return fmt.Sprintf("%s: %v", name, v.Fault)
	}
	return ""
}

// Unverifiable returns why a limit of a newcomer, or of a resident beside it, cannot be
// checked; empty where all can be. Measured tells whether the traffic of resident i is
// part of a measurement, assumed that traffic is assumed of applications that are not
// known, and name what a resident is called.
func Unverifiable(newcomer *Resident, residents []*Resident, measured func(i int) bool, assumed bool, name func(*Resident) string) string {
	if newcomer.Limited() {
		if why := newcomer.Unverifiable("this pod"); why != "" {
			return why
		}
		for i, r := range residents {
			if !r.hasTraffic() && !assumed && !measured(i) {
				return fmt.Sprintf("the traffic of %s is not known", name(r))
			}
		}
	}
	for _, r := range residents {
		if !r.Limited() {
			continue
		}
		if why := r.Unverifiable(name(r)); why != "" {
			return why
		}
		if !newcomer.hasTraffic() && !assumed {
			return fmt.Sprintf("the traffic of this pod is not known, and %s has a limit", name(r))
		}
	}
	return ""
}

// hasTraffic reports whether the traffic of the application is known.
func (r *Resident) hasTraffic() bool {
	a := r.application()
	if a == nil {
		return false
	}
	_, contentiousness := a.Known()
	return contentiousness
}

// Exceeded says in words how the resident, called by name, exceeds what a score says of
// it, which is over a limit.
func (r *Resident) Exceeded(name string, e score.Effect) string {
	if v := r.serving(); v != nil && v.Holds(e.Limit) {
		return v.Exceeded(name, e.After)
	}
	return fmt.Sprintf("predicted %s for %s, whose limit is %s", e.After, name, e.Limit)
}

// is reports whether both are the same job or pod of the cluster.
func (r *Resident) is(other *Resident) bool { return r.ID != "" && r.ID == other.ID }

// ranBefore reports whether the resident began to run before a time.
func (r *Resident) ranBefore(t time.Time) bool { return !r.Since.IsZero() && r.Since.Before(t) }

// equal reports whether predictions with either resident are the same.
func (r *Resident) equal(other *Resident) bool {
	return r == other || r.ID == other.ID && r.NUMANode == other.NUMANode && r.Fast == other.Fast && r.Demand == other.Demand && r.Since.Equal(other.Since) && r.Job() == other.Job()
}

// NUMANode is the NUMA node that a resident is pinned to, or AnyNUMANode.
type NUMANode int

// AnyNUMANode is that of a resident that is pinned to none.
const AnyNUMANode NUMANode = 0

// PinnedTo returns the NUMA node of a number of 0 or more.
func PinnedTo(number int) NUMANode { return NUMANode(number + 1) }

// Meets reports whether two residents of a node may use the same memory.
func (n NUMANode) Meets(other NUMANode) bool {
	return n == AnyNUMANode || other == AnyNUMANode || n == other
}

// Node is a node with its residents, or a part of a node that is a memory domain of
// its own.
type Node struct {
	Name string
	// Domain names the memory domain, which nodes of the same Domain share; empty
	// for a node that is one by itself.
	Domain string
	// Machine names the profile of the machine; empty where it was not specified.
	Machine string
	// Caches are those in which a newcomer may come to run.
	Caches    predictor.Caches
	Residents []*Resident
	// Measured is the total traffic of the node; nil where it is not measured.
	Measured *Measurement

	shared *Domain // in a Cluster
}

// Equal reports whether predictions with either reading of a node are the same.
func (n *Node) Equal(other *Node) bool {
	if n.Name != other.Name || n.Domain != other.Domain || n.Machine != other.Machine || n.Caches != other.Caches ||
		len(n.Residents) != len(other.Residents) || !n.Measured.equal(other.Measured) {
		return false
	}
	for i, r := range n.Residents {
		if !r.equal(other.Residents[i]) {
			return false
		}
	}
	return true
}

// background returns what was measured beyond the traffic of known residents that ran before
// start. The others are not subtracted.
func (n *Node) background(start time.Time) units.Traffic {
	jobs := make([]score.Job, 0, len(n.Residents))
	for _, r := range n.Residents {
		if r.ranBefore(start) {
			jobs = append(jobs, r.Job())
		}
	}
	return score.Background(n.Measured.Traffic, jobs)
}

// AllMeasured reports whether the measurement of the node, if any, includes the traffic of
// every resident. Measurements count until they are of maxAge.
func (n *Node) AllMeasured(maxAge time.Duration) bool {
	if n.Measured == nil {
		return true
	}
	start := n.Measured.start(maxAge)
	return !slices.ContainsFunc(n.Residents, func(r *Resident) bool { return !r.ranBefore(start) })
}

// Measurement is the mean traffic at the memory controllers of a node during an interval.
type Measurement struct {
	Traffic units.Traffic
	// Start and Time are the ends of the interval; Start is zero where it is not known.
	Start, Time time.Time
}

// start returns when the interval of m began. Where that is not known, it is as long as the
// longest of measurements that count until they are of maxAge: half of that.
func (m *Measurement) start(maxAge time.Duration) time.Time {
	if m.Start.IsZero() {
		return m.Time.Add(-maxAge / 2)
	}
	return m.Start
}

// Fresh reports whether m is at most maxAge old. The age of a measurement from the
// future, by a wrong clock, is its distance from now.
func (m *Measurement) Fresh(now time.Time, maxAge time.Duration) bool {
	return m != nil && now.Sub(m.Time).Abs() <= maxAge
}

func (m *Measurement) equal(other *Measurement) bool {
	if m == nil || other == nil {
		return m == other
	}
	return m.Traffic == other.Traffic && m.Start.Equal(other.Start) && m.Time.Equal(other.Time)
}
