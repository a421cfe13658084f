package slurm

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/units"
)

// Site says what Slurm itself does not know: which application a job runs, and
// which machine and memory domain a node is. The zero value knows what comments,
// job names and node features say.
type Site struct {
	applications []applicationRule
	machines     map[string]string // by node
	domains      map[string]string // by node
	leastLimit   units.Slowdown
}

// Features of a node that Bandmate reads; both are followed by =NAME.
const (
	DomainFeature  = "bandmate-domain"
	MachineFeature = "bandmate-machine"
)

// KindSlurmSite is the kind of a site file.
const KindSlurmSite = "SlurmSite"

// siteFile is the form of a site on disk.
type siteFile struct {
	APIVersion   string            `json:"apiVersion"`
	Kind         string            `json:"kind"`
	Applications []applicationRule `json:"applications"`
	Nodes        []nodeRule        `json:"nodes"`
	LeastLimit   float64           `json:"leastLimit"`
}

// applicationRule names the application of jobs without a comment that does.
type applicationRule struct {
	// Job is a pattern for the job's name, as of a shell: lammps-*.
	Job string `json:"job"`
	// User restricts the rule to the jobs of one user.
	User        string `json:"user"`
	Application string `json:"application"`
}

// nodeRule names machine and memory domain of nodes without features that do.
type nodeRule struct {
	Nodes   string `json:"nodes"`
	Machine string `json:"machine"`
	Domain  string `json:"domain"`
}

// ParseSite reads a site file, YAML or JSON:
//
//	apiVersion: bandmate.dev/v1alpha1
//	kind: SlurmSite
//	applications:            # the first that matches counts
//	- job: lammps-*
//	  user: alice            # optional
//	  application: lammps
//	nodes:
//	- nodes: node[01-16]
//	  machine: blade
//	  domain: pool-a
//	leastLimit: 1.05         # what a job's own limit counts as at least
//
// It reports every fault at once, each with its place.
func ParseSite(data []byte) (*Site, error) {
	var f siteFile
	lineOf, err := v1alpha1.DecodeInto(data, &f)
	if err != nil {
		return nil, fmt.Errorf("site file: %w", err)
	}
	s := &Site{
		applications: f.Applications, machines: map[string]string{}, domains: map[string]string{}, leastLimit: units.Slowdown(f.LeastLimit),
	}
	var faults []error
	fault := func(place string, err error) { faults = append(faults, &v1alpha1.Fault{Line: lineOf(place), Err: err}) }
	if f.LeastLimit != 0 && (!(f.LeastLimit >= 1) || math.IsInf(f.LeastLimit, 0)) {
		fault("leastLimit", fmt.Errorf("leastLimit %v: want a slowdown of 1 or more, such as 1.05", f.LeastLimit))
	}
	if f.APIVersion != v1alpha1.APIVersion || f.Kind != KindSlurmSite {
		faults = append(faults, fmt.Errorf("apiVersion %q, kind %q: want %s and %s", f.APIVersion, f.Kind, v1alpha1.APIVersion, KindSlurmSite))
	}
	for i, rule := range f.Applications {
		if err := rule.validate(); err != nil {
			place := fmt.Sprintf("applications[%d]", i)
			fault(place, fmt.Errorf("%s: %w", place, err))
		}
	}
	for i, rule := range f.Nodes {
		if err := s.addNodes(rule); err != nil {
			place := fmt.Sprintf("nodes[%d]", i)
			fault(place, fmt.Errorf("%s: %w", place, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("site file: %w", err)
	}
	return s, nil
}

func (r *applicationRule) validate() error {
	_, err := path.Match(r.Job, "")
	switch {
	case r.Job == "":
		return errors.New("job is empty: want a pattern such as lammps-*")
	case err != nil:
		return fmt.Errorf("job %q: %w: want a pattern such as lammps-*", r.Job, err)
	case !ValidApplication(r.Application):
		return fmt.Errorf("application %q: want the name of a profile", r.Application)
	}
	return nil
}

func (s *Site) addNodes(r nodeRule) error {
	names, err := hostlist.Expand(r.Nodes)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return errors.New("nodes is empty: want a host list such as node[01-16]")
	case r.Machine == "" && r.Domain == "":
		return errors.New("want a machine, a domain or both")
	}
	for _, name := range names {
		for _, into := range []struct {
			known map[string]string
			value string
		}{{s.machines, r.Machine}, {s.domains, r.Domain}} {
			if other, ok := into.known[name]; ok && into.value != "" && other != into.value {
				return fmt.Errorf("%s is %s already: name every node once", name, other)
			}
			if into.value != "" {
				into.known[name] = into.value
			}
		}
	}
	return nil
}

// Application returns the name of what a job runs: what its comment says, else
// what the site file says, else the job's name if a profile could have it;
// empty otherwise.
func (s *Site) Application(j *Job) string {
	name, _ := s.application(j)
	return name
}

// application returns the name, and how it is known.
func (s *Site) application(j *Job) (name, source string) {
	if label := ParseLabel(j.Comment); label.Application != "" {
		return label.Application, "comment"
	}
	for _, r := range s.applications {
		if (r.User == "" || r.User == j.User) && r.matches(j.Name) {
			return r.Application, "site file"
		}
	}
	if ValidApplication(j.Name) {
		return j.Name, "job name"
	}
	return "", ""
}

// matches reports whether a rule is for jobs of this name.
func (r *applicationRule) matches(name string) bool {
	// A slash is a letter like any other in a job's name.
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(plain(r.Job), plain(name))
	return ok && err == nil
}

// Names returns the applications of jobs by the names that the site file gives whole, as far
// as they are the same for every user.
func (s *Site) Names() map[string]string {
	names := map[string]string{}
	for _, rule := range s.applications {
		if strings.ContainsAny(rule.Job, `*?[\`) {
			continue
		}
		first := slices.IndexFunc(s.applications, func(r applicationRule) bool { return r.matches(rule.Job) })
		if r := s.applications[first]; r.User == "" {
			names[rule.Job] = r.Application
		}
	}
	return names
}

// Limit returns the slowdown that the job's comment allows it; 0 for any. A user cannot
// keep others off a node by a limit below the one that the site file sets as the least.
func (s *Site) Limit(j *Job) units.Slowdown {
	limit := ParseLabel(j.Comment).Limit
	if limit == 0 {
		return 0
	}
	return max(limit, s.leastLimit)
}

// Domain returns the name of a node's memory domain: its feature, else what the
// site file says, else the node's own name. Nodes of the same domain share memory.
func (s *Site) Domain(n *Node) string {
	if domain, ok := n.feature(DomainFeature); ok {
		return domain
	}
	if domain, ok := s.domains[n.Name]; ok {
		return domain
	}
	return n.Name
}

// Machine returns the name of a node's machine profile: its feature, else what
// the site file says; empty when nobody says.
func (s *Site) Machine(n *Node) string {
	if machine, ok := n.feature(MachineFeature); ok {
		return machine
	}
	return s.machines[n.Name]
}

// unknownNodes returns the nodes of the site file that the cluster does not have.
func (s *Site) unknownNodes(c *Cluster) []string {
	var unknown []string
	for _, known := range []map[string]string{s.machines, s.domains} {
		for name := range known {
			if c.Node(name) == nil && !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown
}
