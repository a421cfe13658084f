package capability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// Parameters are the costs that trees and barriers are derived from.
type Parameters struct {
	// Local, Remote and Memory are R_L, R_R and R_I: reading a line from the
	// cache of the core itself, from the cache of another core (of another tile
	// where cores form tiles) and from memory.
	Local, Remote, Memory Cost
	// Tile is the cost of reading a line that a core of the same tile wrote;
	// without meaning for CoresPerTile below 2.
	Tile Cost
	// CoresPerTile is how many cores share a cache below the last level, 1 or
	// more.
	CoresPerTile int
	// Contention is T_C, the cost of n threads that read the same line at once;
	// nil when unknown. Trees need it, barriers do not.
	Contention *Line
}

// Validate reports every value that is out of range.
func (p Parameters) Validate() error {
	err := errors.Join(
		checkCost("local latency", p.Local), checkCost("remote latency", p.Remote),
		checkCost("memory latency", p.Memory), checkCost("tile latency", p.Tile))
	if c := p.Contention; c != nil {
		err = errors.Join(err, checkCost("contention (base)", c.Base), checkCost("contention (per thread)", c.Each))
	}
	if p.CoresPerTile < 1 || p.CoresPerTile > MaxThreads {
		err = errors.Join(err, fmt.Errorf("%d cores per tile: want 1 to %d", p.CoresPerTile, MaxThreads))
	}
	return err
}

// ErrNotCovered is wrapped when a machine profile lacks values that a model needs.
var ErrNotCovered = errors.New("the machine profile does not cover this: add it to its section capability")

// NewParameters takes the costs from a machine profile. Flags are written just
// before they are read, so latencies are those of modified lines where the
// profile has them, else of exclusive, else of shared ones. R_I is the latency of
// the given memory; without a name, of the first.
func NewParameters(m *v1alpha1.MachineProfile, memory string) (Parameters, error) {
	c, err := capabilityOf(m)
	if err != nil {
		return Parameters{}, err
	}
	p := Parameters{CoresPerTile: max(1, c.CoresPerTile)}
	if c.Contention != nil {
		p.Contention = &Line{Cost(c.Contention.BaseNanoseconds), Cost(c.Contention.PerThreadNanoseconds)}
	}
	var missing []string
	find := func(to *Cost, place, memory string) {
		if latency, ok := latencyOf(c, place, memory, writtenStates); ok {
			*to = latency
		} else {
			missing = append(missing, place)
		}
	}
	find(&p.Local, "level1", "")
	find(&p.Remote, "remote", "")
	find(&p.Memory, "memory", memory)
	if p.CoresPerTile > 1 {
		find(&p.Tile, "tile", "")
	}
	if missing != nil {
		return Parameters{}, missingLatencies(m.Name, missing, c, memory)
	}
	return p, p.Validate()
}

func capabilityOf(m *v1alpha1.MachineProfile) (*v1alpha1.Capability, error) {
	if m.Spec.Capability == nil {
		return nil, fmt.Errorf("machine %q: it has no section capability: %w", m.Name, ErrNotCovered)
	}
	return m.Spec.Capability, nil
}

// The states of a line in order of preference.
var (
	writtenStates = []string{"modified", "exclusive", "shared", ""}
	ownStates     = []string{"exclusive", "shared", "modified", ""}
)

// latencyOf returns the latency of a place; of the first memory when none is named.
func latencyOf(c *v1alpha1.Capability, place, memory string, states []string) (Cost, bool) {
	for _, state := range states {
		for _, l := range c.Latencies {
			if l.Place == place && l.State == state && (memory == "" || l.Memory == memory) {
				return Cost(l.Nanoseconds), true
			}
		}
	}
	return 0, false
}

func missingLatencies(machine string, places []string, c *v1alpha1.Capability, memory string) error {
	text := strings.Join(places, ", ")
	if memory != "" {
		text += fmt.Sprintf(" (memory %q; it has %s)", memory, cmp.Or(strings.Join(memories(c), ", "), "one kind, without a name"))
	}
	return fmt.Errorf("machine %q: missing latencies: %s: %w", machine, text, ErrNotCovered)
}

// memories names the kinds of memory in the order of the profile.
func memories(c *v1alpha1.Capability) []string {
	var names []string
	for _, l := range c.Latencies {
		if l.Place == "memory" && l.Memory != "" && !slices.Contains(names, l.Memory) {
			names = append(names, l.Memory)
		}
	}
	return names
}
