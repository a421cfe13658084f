package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// MostInterferers is how many interferers a session may have: the highest level
// that a profile can hold.
const MostInterferers = 64

// interferers are the interferers of a session: the first, which makes every
// pressure up to level 1 by itself, and one process for all others, if any.
type interferers []*interferer.Interferer

func (g interferers) apply(s pressure.Settings) error {
	err := g[0].Apply(s.First)
	for _, i := range g[1:] {
		err = errors.Join(err, i.Apply(s.Others))
	}
	return err
}

// request has the interferers, if any, follow the settings soon.
func (g interferers) request(s pressure.Settings) error {
	var err error
	for n, i := range g {
		to := s.Others
		if n == 0 {
			to = s.First
		}
		err = errors.Join(err, i.Request(to))
	}
	if err != nil {
		return fmt.Errorf("switching the interferer: %w", err)
	}
	return nil
}

// err returns why an interferer has ended, nil while all run.
func (g interferers) err() error {
	for _, i := range g {
		if err := i.Err(); err != nil {
			return fmt.Errorf("an interferer ended: %w", err)
		}
	}
	return nil
}

// close ends all interferers. An end that came before was reported by what ran
// beside it, and is no error here.
func (g interferers) close() error {
	reported := g.err() != nil
	var err error
	for _, i := range g {
		if closed := i.Close(); !reported {
			err = errors.Join(err, closed)
		}
	}
	return err
}

func (g interferers) counters() []interferer.Counters {
	all := make([]interferer.Counters, len(g))
	for n, i := range g {
		all[n] = i.Counters()
	}
	return all
}

// since returns the traffic of all interferers together since earlier counters.
func (g interferers) since(earlier []interferer.Counters) interferer.Achieved {
	sum := g[0].Counters().Since(earlier[0])
	for n, i := range g[1:] {
		a := i.Counters().Since(earlier[n+1])
		sum.Traffic = sum.Traffic.Add(a.Traffic)
		sum.LostShare, sum.OffCPUShare = max(sum.LostShare, a.LostShare), max(sum.OffCPUShare, a.OffCPUShare)
		sum.Variation = math.NaN()
	}
	return sum
}

// placeInterferers returns the CPUs of the first of several interferers and of
// the others. CPUs that the caller named are divided in equal parts. Otherwise
// the first keeps its place and each other one gets as many CPUs, preferably whole
// cores near the first one's NUMA node, never on a core of the application. The
// error is a *TooFewCPUsError when there are not enough.
func placeInterferers(m *topology.Machine, p topology.Placement, placing Placing) (first, others cpuset.CPUSet, err error) {
	n := placing.Interferers
	if n > MostInterferers {
		return first, others, fmt.Errorf("%w: %d interferers: want at most %d", launch.ErrPlacement, n, MostInterferers)
	}
	if !placing.Interferer.IsEmpty() {
		list := p.Interferer.List()
		each := len(list) / n
		if each == 0 || len(list)%n != 0 {
			return first, others, fmt.Errorf("%w: the %d CPUs %s cannot be divided equally among %d interferers: name a multiple of %d with --interferer-cpus",
				launch.ErrPlacement, len(list), p.Interferer, n, n)
		}
		return cpuset.New(list[:each]...), cpuset.New(list[each:]...), nil
	}
	each := p.Interferer.Size()
	free := freeCPUs(m, p, m.Online().Intersection(placing.Allowed))
	if want := (n - 1) * each; len(free) >= want {
		return p.Interferer, cpuset.New(free[:want]...), nil
	}
	return p.Interferer, others, &TooFewCPUsError{Interferers: n, Each: each, Free: each + len(free), Target: p.Target}
}

// freeCPUs lists the CPUs for further interferers, best first.
func freeCPUs(m *topology.Machine, p topology.Placement, allowed cpuset.CPUSet) []int {
	target, taken, nodes := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, c := range m.CPUs {
		if p.Target.Contains(c.ID) {
			target[c.Core] = true
		}
		if p.Interferer.Contains(c.ID) {
			taken[c.Core], nodes[c.Node] = true, true
		}
	}
	var ids []int
	rank := map[int]int{}
	for _, c := range m.CPUs {
		if !allowed.Contains(c.ID) || target[c.Core] || p.Interferer.Contains(c.ID) {
			continue
		}
		if taken[c.Core] { // a sibling of another interferer's CPU
			rank[c.ID] += 2
		}
		if !nodes[c.Node] {
			rank[c.ID]++
		}
		taken[c.Core] = true
		ids = append(ids, c.ID)
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	return ids
}

// UnusedCPUs are CPUs that neither the application's cores nor the interferers use.
func (s *Session) UnusedCPUs() cpuset.CPUSet {
	return cpuset.New(freeCPUs(s.Machine, s.Placement, s.Allowed)...).Difference(s.otherCPUs)
}

// TooFewCPUsError says that a machine lacks the CPUs for several interferers.
type TooFewCPUsError struct {
	// Interferers were asked for, of Each CPUs.
	Interferers, Each int
	// Free is the number of CPUs beside those of the application, Target.
	Free   int
	Target cpuset.CPUSet
	// One is what one interferer reaches alone; 0 when not measured.
	One units.Bandwidth
}

func (e *TooFewCPUsError) Error() string {
	text := fmt.Sprintf("%d interferers need %d CPUs beside the application's %s, and %d are free", e.Interferers, e.Interferers*e.Each, e.Target, e.Free)
	if e.One > 0 {
		text += fmt.Sprintf("; one interferer reaches %v", e.One)
	}
	return text + ": use a machine with more CPUs, ask for fewer --interferers, give the application fewer --cpus, or name --interferer-cpus to be divided"
}

func (e *TooFewCPUsError) Unwrap() error { return launch.ErrPlacement }
