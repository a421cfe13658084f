package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// MostInterferers is how many a session may have: what a profile's levels hold.
const MostInterferers = 64

// force is what the interferers of a session do: the first, which one means by
// the interferer, and the others together.
type force struct{ first, others interferer.Setting }

// forceOf leaves the others without traffic. They keep their CPUs as busy as
// the first does, so that only the traffic differs.
func forceOf(s interferer.Setting) force {
	others := interferer.Setting{Mode: interferer.Spin}
	if s.Mode == interferer.Idle {
		others.Mode = interferer.Idle
	}
	return force{s, others}
}

// force is what makes p.
func (p MeasuredPressure) force() force {
	f := forceOf(p.Setting)
	if p.Others.Mode != "" {
		f.others = p.Others
	}
	return f
}

// othersAt is what the others do at a level above 1, where the first of that
// many interferers is unpaced and reaches sustained alone: unpaced too at the
// highest level, else the rest of the bandwidth asked for.
func othersAt(p Pressure, interferers int, sustained units.Bandwidth) interferer.Setting {
	s := p.unpaced()
	if p.Level < float64(interferers) {
		s.Bandwidth = sustained * units.Bandwidth(p.Level-1)
	}
	return s
}

// placeCrowd is crowdPlaces for a session; the first keeps its place when the
// others have none.
func placeCrowd(m *topology.Machine, p topology.Placement, placing Placing) (first, others cpuset.CPUSet, err error) {
	if placing.Interferers > MostInterferers {
		return p.Interferer, others, fmt.Errorf("%w: %d interferers: want %d at most", ErrPlacement, placing.Interferers, MostInterferers)
	}
	return crowdPlaces(m, p, m.Online().Intersection(placing.Allowed), !placing.Interferer.IsEmpty(), placing.Interferers)
}

// crowdPlaces says where the first of several interferers and the others run.
// What the caller named is divided in equal parts; else each of the others gets
// as many CPUs as the first, from what placement leaves: on whole cores where
// there are, near the first one's NUMA node, never on a core of the
// application. The error says how many there would have to be.
func crowdPlaces(m *topology.Machine, p topology.Placement, allowed cpuset.CPUSet, named bool, interferers int) (first, others cpuset.CPUSet, err error) {
	if named {
		list := p.Interferer.List()
		each := len(list) / interferers
		if each == 0 || len(list)%interferers != 0 {
			return first, others, fmt.Errorf("%w: the %d CPUs %s cannot be divided equally among %d interferers: name a multiple of %d with --interferer-cpus",
				ErrPlacement, len(list), p.Interferer, interferers, interferers)
		}
		return cpuset.New(list[:each]...), cpuset.New(list[each:]...), nil
	}
	want := (interferers - 1) * p.Interferer.Size()
	free := freeFor(m, p, allowed)
	if len(free) < want {
		return p.Interferer, others, &CrowdError{Interferers: interferers, Each: p.Interferer.Size(), Free: p.Interferer.Size() + len(free), Target: p.Target}
	}
	return p.Interferer, cpuset.New(free[:want]...), nil
}

// freeFor lists the CPUs for more interferers, best first.
func freeFor(m *topology.Machine, p topology.Placement, allowed cpuset.CPUSet) []int {
	target, taken, homes := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, c := range m.CPUs {
		if p.Target.Contains(c.ID) {
			target[c.Core] = true
		}
		if p.Interferer.Contains(c.ID) {
			taken[c.Core], homes[c.Node] = true, true
		}
	}
	type candidate struct{ id, sibling, far int }
	var all []candidate
	for _, c := range m.CPUs {
		if !allowed.Contains(c.ID) || target[c.Core] || p.Interferer.Contains(c.ID) {
			continue
		}
		k := candidate{id: c.ID}
		if taken[c.Core] {
			k.sibling = 1
		}
		taken[c.Core] = true
		if !homes[c.Node] {
			k.far = 1
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.sibling, b.sibling), cmp.Compare(a.far, b.far), cmp.Compare(a.id, b.id))
	})
	ids := make([]int, len(all))
	for i, k := range all {
		ids[i] = k.id
	}
	return ids
}

// CrowdError says that a machine lacks the CPUs for several interferers.
type CrowdError struct {
	// Interferers were asked for, of Each CPUs.
	Interferers, Each int
	// Free CPUs are there for all of them beside the application's, Target.
	Free   int
	Target cpuset.CPUSet
	// One is what one of them reaches alone; 0 when that was not measured.
	One units.Bandwidth
}

func (e *CrowdError) Error() string {
	text := fmt.Sprintf("%d interferers need %d CPUs beside the application's %s, and %d can be had", e.Interferers, e.Interferers*e.Each, e.Target, e.Free)
	if e.One > 0 {
		text += fmt.Sprintf("; one interferer reaches %v", e.One)
	}
	return text + ": use a machine with more CPUs, ask for fewer --interferers, give the application fewer --cpus, or name --interferer-cpus to be divided"
}

func (e *CrowdError) Unwrap() error { return ErrPlacement }

// sizeUp has the error of too few CPUs say what one interferer reaches.
func (s *Session) sizeUp(ctx context.Context, e *CrowdError) error {
	sustained, err := s.sustainedOf(ctx, []Pressure{{ReadShare: 1, Level: 1, Pattern: interferer.Sequential}})
	if err != nil {
		return errors.Join(e, err)
	}
	for _, b := range sustained {
		e.One = b
	}
	return e
}

// gather starts the others of several interferers.
func (s *Session) gather(ctx context.Context, others cpuset.CPUSet, interferers int) (err error) {
	o := s.options
	o.CPUs = others
	if bytes, ok := s.Machine.LastLevelCacheBytes(others); ok {
		o.LastLevelCacheBytes = bytes
	}
	if s.others, err = s.startInterferer(ctx, o); err != nil {
		return err
	}
	s.interferers, s.otherCPUs = interferers, others
	s.Placement.Explanation += fmt.Sprintf(" %d interferers of %d CPUs each: the others run on %s.", interferers, s.Placement.Interferer.Size(), others)
	return nil
}

// exert has all interferers follow f.
func (s *Session) exert(f force) error {
	err := s.pressure.Apply(f.first)
	if s.others != nil {
		err = errors.Join(err, s.others.Apply(f.others))
	}
	return err
}

// marks are the counters of all interferers at one moment.
type marks struct{ first, others interferer.Counters }

func (s *Session) mark() marks {
	m := marks{first: s.pressure.Counters()}
	if s.others != nil {
		m.others = s.others.Counters()
	}
	return m
}

// since is what all interferers moved together.
func (s *Session) since(earlier marks) interferer.Achieved {
	a := s.pressure.Counters().Since(earlier.first)
	if s.others != nil {
		b := s.others.Counters().Since(earlier.others)
		a.Traffic = a.Traffic.Add(b.Traffic)
		a.LostShare, a.OffCPUShare = max(a.LostShare, b.LostShare), max(a.OffCPUShare, b.OffCPUShare)
		a.Variation = math.NaN()
	}
	return a
}

// crowdCPUs are those of all interferers.
func (s *Session) crowdCPUs() cpuset.CPUSet {
	return s.Placement.Interferer.Union(s.otherCPUs)
}
