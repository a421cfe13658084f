package communication

// MachineSnapshot is everything that Combine reads of a Machine, as plain numbers,
// so that it can be computed elsewhere.
type MachineSnapshot struct {
	// Leaving and Arriving are the penalties of 1, 2, … communications on one side
	// of the card.
	Leaving  []float64 `json:"leaving"`
	Arriving []float64 `json:"arriving"`
	// PerCore is the traffic of one computing core in bytes per second, and Beside
	// what a communication reaches on the bus beside 0, 1, 2, … of them, the last
	// one for all that follow; absent where the bus is not known.
	PerCore float64   `json:"perCore,omitempty"`
	Beside  []float64 `json:"beside,omitempty"`
}

// LoadSnapshot is everything that Combine reads of a Load: see there.
type LoadSnapshot struct {
	// Machine is the index of the machine among those that the caller keeps; absent
	// where the network is not known.
	Machine    *int    `json:"machine,omitempty"`
	Out        float64 `json:"out"`
	In         float64 `json:"in"`
	Waiting    float64 `json:"waiting"`
	Overlapped bool    `json:"overlapped"`
	Apart      bool    `json:"apart"`
}

// Snapshot returns the numbers of l, and those of its machine; nil where the
// network is not known.
func (l *Load) Snapshot() (LoadSnapshot, *MachineSnapshot) {
	s := LoadSnapshot{Out: l.out, In: l.in, Waiting: l.waiting, Overlapped: l.overlapped, Apart: l.apart}
	if l.gaps&NoNetwork != 0 {
		return s, nil
	}
	return s, l.machine.snapshot()
}

func (m *Machine) snapshot() *MachineSnapshot {
	s := &MachineSnapshot{Leaving: m.leaving, Arriving: m.arriving}
	if m.bus == nil {
		return s
	}
	s.PerCore = float64(m.bus.ComputationPerCore)
	last := 0 // number of cores from which on nothing changes
	all := make([]float64, mostCores+2)
	for cores := range all {
		all[cores] = m.communicationOf(cores)
		if cores > 0 && all[cores] != all[cores-1] {
			last = cores
		}
	}
	s.Beside = all[:last+1]
	return s
}
