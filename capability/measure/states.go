package measure

import (
	"context"
	"fmt"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// lineState is a state of cache lines and how other CPUs bring it about.
type lineState struct {
	name string
	// third is true if the state takes a third CPU, flush if it takes flushing.
	third, flush bool
	// owner is what the CPU whose lines are read does first.
	owner func(r ring, lines []line)
}

// lineStates lists the states in the order of figure 4 of Ramos and Hoefler, and
// shared.
func lineStates() []lineState {
	read := func(r ring, lines []line) {
		flushLines(lines)
		r.chase(0, r.lines())
	}
	return []lineState{
		{name: "modified", owner: func(r ring, _ []line) { r.modify() }},
		{name: "exclusive", flush: true, owner: read},
		{name: "shared", flush: true, third: true, owner: read},
		{name: "invalid", flush: true, owner: func(r ring, lines []line) {
			r.modify()
			flushLines(lines)
		}},
	}
}

// byState measures the latency of lines in the caches of other cores, by their
// state. Of several cores it keeps the range and its middle.
func (r *runner) byState() []section {
	if len(r.options.CPUs) < 2 {
		r.warn("latency of other cores, transfers from them and contention were not measured: they take two CPUs and more")
		return nil
	}
	if !canFlush {
		r.warn("latency of exclusive, shared and invalid lines was not measured: lines cannot be flushed on this architecture")
	} else if len(r.options.CPUs) < 3 {
		r.warn("latency of shared lines was not measured: it takes three CPUs, two that share and one that reads")
	}
	if len(r.partners()) < len(r.options.CPUs)-1 {
		r.warn("latency of other cores was measured with %d of %d", len(r.partners()), len(r.options.CPUs)-1)
	}
	var sections []section
	for _, place := range []string{"tile", "remote"} {
		cpus := slices.DeleteFunc(slices.Clone(r.partners()), func(cpu int) bool { return r.place(cpu) != place })
		for _, state := range lineStates() {
			if len(cpus) == 0 || state.flush && !canFlush || state.third && len(r.options.CPUs) < 3 {
				continue
			}
			sections = append(sections, r.stateOf(place, state, cpus))
		}
	}
	return sections
}

// stateOf measures lines of one state with each CPU of a place.
func (r *runner) stateOf(place string, state lineState, cpus []int) section {
	var found []Median
	h := &handOver{}
	s := section{
		open:  func(context.Context) error { return h.open(max(8<<10, r.capability().Level1Bytes/2)) },
		close: h.close,
		done: func() {
			r.capability().Latencies = append(r.capability().Latencies, overPlaces(place, state.name, found))
		},
	}
	for _, cpu := range cpus {
		steps := []step{{cpu, state.owner}}
		if state.third {
			steps = append(steps, step{r.thirdTo(cpu), func(r ring, _ []line) { r.chase(0, r.lines()) }})
		}
		s.values = append(s.values, value{
			what: fmt.Sprintf("latency of %s lines of CPU %d", state.name, cpu),
			once: func() (float64, error) { return h.once(r.options.CPUs[0], steps) },
			keep: func(m Median) { found = append(found, m) },
		})
	}
	return s
}

// thirdTo returns a CPU that is neither the first one nor the other.
func (r *runner) thirdTo(other int) int {
	i := slices.IndexFunc(r.options.CPUs[1:], func(cpu int) bool { return cpu != other })
	return r.options.CPUs[1+i]
}

// overPlaces combines the latencies of several CPUs.
func overPlaces(place, state string, found []Median) v1alpha1.LineLatency {
	low, high, interval, repeats := found[0].Value, found[0].Value, 0.0, found[0].Repeats
	for _, m := range found {
		low, high = min(low, m.Value), max(high, m.Value)
		interval, repeats = max(interval, m.RelativeInterval), min(repeats, m.Repeats)
	}
	l := v1alpha1.LineLatency{Place: place, State: state, Nanoseconds: (low + high) / 2, RelativeInterval: &interval, Repeats: repeats}
	if len(found) > 1 {
		l.LowNanoseconds, l.HighNanoseconds = &low, &high
	}
	return l
}

// handOver is a ring that cores hand to each other.
type handOver struct {
	buffer buffer
	ring   ring
}

// step is what one CPU does with the ring.
type step struct {
	cpu int
	run func(ring, []line)
}

func (h *handOver) open(bytes int64) (err error) {
	if h.buffer, err = newBuffer(bytes, nil); err == nil {
		h.ring = lay(h.buffer.words())
	}
	return err
}

// once has CPUs take the steps, and then the reader follow the ring.
func (h *handOver) once(reader int, steps []step) (float64, error) {
	for _, s := range steps {
		if err := onCPU(s.cpu, func() { s.run(h.ring, h.buffer.lines()) }); err != nil {
			return 0, err
		}
	}
	lines := h.ring.lines()
	return perLine(reader, lines, func() {}, func() { h.ring.chase(0, lines) })
}

func (h *handOver) close() error { return h.buffer.Free() }
