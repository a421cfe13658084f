package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
)

// value is one median to measure.
type value struct {
	what string
	// once measures it, in nanoseconds or bytes per second.
	once func() (float64, error)
	keep func(Median)
}

// section is a group of values that share what they are measured on.
type section struct {
	// open prepares it; may be nil. errSkip leaves the section out.
	open func(context.Context) error
	// close undoes open, whatever happened since; may be nil.
	close  func() error
	values []value
	// done is called after all values were measured; may be nil.
	done func()
}

// errSkip is wrapped when a section cannot be measured here, though others may.
var errSkip = errors.New("not measured")

// runner measures one section after the other, until the first error.
type runner struct {
	options Options
	machine *topology.Machine
	result  Result
	// number and total count values; deadline is when the budget is spent.
	number, total int
	deadline      time.Time
}

// warn adds a warning, in one line as a profile requires.
func (r *runner) warn(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	r.result.Warnings = append(r.result.Warnings, text)
}

func (r *runner) run(ctx context.Context, sections []section) error {
	for _, s := range sections {
		r.total += len(s.values)
	}
	for _, s := range sections {
		if err := r.section(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) section(ctx context.Context, s section) (err error) {
	if s.close != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.open != nil {
		err := s.open(ctx)
		if errors.Is(err, errSkip) && ctx.Err() == nil {
			r.warn("%v", err)
			r.number += len(s.values)
			return nil
		}
		if err != nil {
			return err
		}
	}
	for _, v := range s.values {
		if err := r.measure(ctx, v); err != nil {
			return fmt.Errorf("%s: %w", v.what, err)
		}
	}
	if s.done != nil {
		s.done()
	}
	return nil
}

// measure measures one median. The remaining budget is divided evenly among the
// remaining values.
func (r *runner) measure(ctx context.Context, v value) error {
	if r.options.Progress != nil {
		r.options.Progress(r.number, r.total, v.what)
	}
	now := time.Now()
	enough := now.Add(r.deadline.Sub(now) / time.Duration(r.total-r.number))
	r.number++
	median, err := r.options.Repeats.until(ctx, func() bool { return time.Now().After(enough) }, v.once)
	if err != nil {
		return err
	}
	if median.Mixed {
		r.warn("%s: other programs ran on the CPUs in %d of %d repeats, and all are counted; stop other programs", v.what, median.Disturbed, median.Repeats)
	}
	if doubt := median.Doubt(); doubt != "" {
		r.warn("%s: %s", v.what, doubt)
	}
	v.keep(median)
	return nil
}

// counts returns the powers of two below a number, and the number.
func counts(most int) []int {
	var all []int
	for n := 1; n < most; n *= 2 {
		all = append(all, n)
	}
	return append(all, most)
}

// partners returns CPUs to exchange lines with the first one: all others, or, of
// many, some that are spread evenly.
func (r *runner) partners() []int {
	others := r.options.CPUs[1:]
	if len(others) <= maxPartners {
		return others
	}
	var some []int
	for i := range maxPartners {
		some = append(some, others[i*(len(others)-1)/(maxPartners-1)])
	}
	return some
}

// maxPartners bounds the partners.
const maxPartners = 16

// place returns where lines in the cache of a CPU are for the first CPU.
func (r *runner) place(cpu int) string {
	for _, c := range r.machine.Caches {
		if c.Level == 2 && c.CPUs.Contains(cpu) && c.CPUs.Contains(r.options.CPUs[0]) {
			return "tile"
		}
	}
	return "remote"
}

// nearestOf returns the first partner of a place; false without one.
func (r *runner) nearestOf(place string) (int, bool) {
	i := slices.IndexFunc(r.partners(), func(cpu int) bool { return r.place(cpu) == place })
	if i < 0 {
		return 0, false
	}
	return r.partners()[i], true
}

// memoryNodes returns the NUMA nodes with memory, that of the first CPU first;
// nil if there is only one.
func (r *runner) memoryNodes() []int {
	cpu, _ := r.machine.CPU(r.options.CPUs[0])
	nodes := []int{cpu.Node}
	for _, n := range r.machine.Nodes {
		if n.ID != cpu.Node && n.MemoryBytes > 0 {
			nodes = append(nodes, n.ID)
		}
	}
	if len(nodes) == 1 || cpu.Node < 0 {
		return nil
	}
	return nodes
}

// node returns the NUMA node of the first CPU.
func (r *runner) node() int {
	cpu, _ := r.machine.CPU(r.options.CPUs[0])
	return cpu.Node
}

func (r *runner) capability() *v1alpha1.Capability { return &r.result.Capability }
