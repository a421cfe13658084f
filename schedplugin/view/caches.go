package view

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// Seats says in which last-level caches the pods of a node run. Of the zero value nothing
// is known.
type Seats struct {
	own  map[string]predictor.Caches // of pods with CPUs for themselves, by UID
	rest predictor.Caches
}

// ReadSeats reads which CPUs pods of a node have for themselves. caches are the CPUs of
// each cache of the machine, none unless there are several. Nodes that share memory, whose
// caches are different ones, have no seats. The error means that the annotation is invalid
// and ignored.
func ReadSeats(n *v1.Node, caches []cpuset.CPUSet) (Seats, error) {
	text, ok := n.Annotations[v1alpha1.ExclusiveCPUsAnnotation]
	if !ok || len(caches) == 0 || n.Labels[v1alpha1.MemoryDomainLabel] != "" {
		return Seats{}, nil
	}
	lists, err := v1alpha1.ParseExclusiveCPUs(text)
	if err != nil || len(lists) == 0 {
		return Seats{}, err
	}
	s := Seats{own: make(map[string]predictor.Caches, len(lists))}
	var numbers []int
	for pod, list := range lists {
		cpus, err := cpuset.Parse(list)
		if err != nil {
			return Seats{}, err
		}
		numbers = append(numbers, cpus.UnsortedList()...)
		s.own[pod] = with(caches, func(c cpuset.CPUSet) bool { return !c.Intersection(cpus).IsEmpty() })
	}
	taken := cpuset.New(numbers...)
	s.rest = with(caches, func(c cpuset.CPUSet) bool { return !c.Difference(taken).IsEmpty() })
	if s.rest == predictor.AnyCache {
		s.rest = with(caches, func(cpuset.CPUSet) bool { return true })
	}
	return s, nil
}

// with returns the caches for which a condition holds.
func with(caches []cpuset.CPUSet, holds func(cpuset.CPUSet) bool) predictor.Caches {
	set := predictor.AnyCache
	for i, c := range caches {
		if holds(c) {
			set |= predictor.CachesOf(i)
		}
	}
	return set
}

// Of returns the caches in which the pod of a UID may run: those of its own CPUs, or else
// those with CPUs that no pod has for itself. So may a pod that is to come.
func (s *Seats) Of(uid string) predictor.Caches {
	if own := s.own[uid]; own != predictor.AnyCache {
		return own
	}
	return s.rest
}
