package overlap

import (
	"errors"
	"fmt"
	"math"

	"bandmate.dev/bandmate/units"
)

// Instance is the model of Denis et al. for one distance between the computing
// cores and the memory that both computation and communication use (section
// III.A). All cores compute on one socket; one more receives messages.
type Instance struct {
	// CommunicationAlone is B_comm^seq, the bandwidth of communication alone.
	CommunicationAlone units.Bandwidth `json:"communicationAloneBytesPerSecond"`
	// LeastCommunicationShare is α, the share of CommunicationAlone that
	// communication keeps in the worst case: 0 to 1.
	LeastCommunicationShare float64 `json:"leastCommunicationShare"`
	// ComputationPerCore is B_comp^seq, the bandwidth of one computing core.
	ComputationPerCore units.Bandwidth `json:"computationPerCoreBytesPerSecond"`
	// ComputationAlone is T_seq^max, the highest bandwidth of computation alone,
	// with ComputationAloneCores, N_seq^max, cores.
	ComputationAlone      units.Bandwidth `json:"computationAloneBytesPerSecond"`
	ComputationAloneCores int             `json:"computationAloneCores"`
	// Total is T_par^max, the highest bandwidth of both together, and TotalCores,
	// N_par^max, the number of computing cores up to which they reach it.
	Total      units.Bandwidth `json:"totalBytesPerSecond"`
	TotalCores int             `json:"totalCores"`
	// TotalAtComputationAloneCores is T_par^max2, the bandwidth of both together
	// with ComputationAloneCores.
	TotalAtComputationAloneCores units.Bandwidth `json:"totalAtComputationAloneCoresBytesPerSecond"`
	// LossBefore and LossAfter are δ_l and δ_r: the loss of the total with every
	// further core between TotalCores and ComputationAloneCores, and beyond. They
	// are below zero where the total grows.
	LossBefore units.Bandwidth `json:"lossBeforeBytesPerSecond"`
	LossAfter  units.Bandwidth `json:"lossAfterBytesPerSecond"`
}

// Validate reports every parameter that is out of range, and contradictions.
func (m Instance) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	positive := func(name string, b units.Bandwidth) {
		check(b > 0 && b.Valid(), "%s of %v: want a finite bandwidth above 0", name, float64(b))
	}
	positive("communicationAloneBytesPerSecond", m.CommunicationAlone)
	positive("computationPerCoreBytesPerSecond", m.ComputationPerCore)
	positive("computationAloneBytesPerSecond", m.ComputationAlone)
	positive("totalBytesPerSecond", m.Total)
	positive("totalAtComputationAloneCoresBytesPerSecond", m.TotalAtComputationAloneCores)
	check(m.LeastCommunicationShare >= 0 && m.LeastCommunicationShare <= 1,
		"leastCommunicationShare of %v: want 0 to 1", m.LeastCommunicationShare)
	check(m.TotalCores >= 1, "totalCores of %d: want 1 or more", m.TotalCores)
	check(m.ComputationAloneCores >= 1, "computationAloneCores of %d: want 1 or more", m.ComputationAloneCores)
	for _, loss := range []struct {
		name string
		of   units.Bandwidth
	}{{"lossBeforeBytesPerSecond", m.LossBefore}, {"lossAfterBytesPerSecond", m.LossAfter}} {
		check(!math.IsNaN(float64(loss.of)) && !math.IsInf(float64(loss.of), 0), "%s of %v: want a finite bandwidth", loss.name, float64(loss.of))
	}
	check(m.ComputationAlone >= m.ComputationPerCore*(1-1e-9), "computationAloneBytesPerSecond of %s is less than the %s of one core", m.ComputationAlone, m.ComputationPerCore)
	if before := m.ComputationAloneCores - m.TotalCores; before > 0 && len(faults) == 0 {
		at := m.Total - m.LossBefore*units.Bandwidth(before)
		check(math.Abs(float64(at-m.TotalAtComputationAloneCores)) <= 1e-3*float64(m.Total),
			"totalAtComputationAloneCoresBytesPerSecond of %s contradicts the %s that lossBeforeBytesPerSecond leaves at %d cores", m.TotalAtComputationAloneCores, at, m.ComputationAloneCores)
	}
	return errors.Join(faults...)
}

// total returns T(n), the bandwidth of the memory system with n computing cores
// (eq. 1), not below zero.
func (m Instance) total(n int) units.Bandwidth {
	t := m.Total
	switch {
	case n <= m.TotalCores:
	case n <= m.ComputationAloneCores:
		t -= m.LossBefore * units.Bandwidth(n-m.TotalCores)
	default:
		t = m.TotalAtComputationAloneCores - m.LossAfter*units.Bandwidth(n-m.ComputationAloneCores)
	}
	return max(0, t)
}

// fits reports whether the demand of n cores and the least of communication fit the
// bus: R(n) < T(n) (eq. 2).
func (m Instance) fits(n int) bool {
	return m.wanted(n)+units.Bandwidth(m.LeastCommunicationShare)*m.CommunicationAlone < m.total(n)
}

func (m Instance) wanted(n int) units.Bandwidth { return units.Bandwidth(n) * m.ComputationPerCore }

// Together returns the bandwidths of n computing cores and of communication
// that run at the same time in the same memory (eq. 3 and 4); n is 0 or more.
func (m Instance) Together(n int) (computation, communication units.Bandwidth) {
	if m.fits(n) {
		computation = m.wanted(n)
		return computation, min(m.total(n)-computation, m.CommunicationAlone)
	}
	communication = min(units.Bandwidth(m.share(n))*m.CommunicationAlone, m.total(n))
	return m.total(n) - communication, communication
}

// share returns α(n), the share of CommunicationAlone that communication keeps when
// n cores fill the bus (eq. 5). It falls linearly from the last number of cores
// that fit.
func (m Instance) share(n int) float64 {
	if m.ComputationAloneCores-m.TotalCores <= 1 || n >= m.ComputationAloneCores {
		return m.LeastCommunicationShare
	}
	last := n
	for last > 0 && !m.fits(last) {
		last--
	}
	start := 1.0
	if m.fits(last) {
		_, communication := m.Together(last)
		start = float64(communication / m.CommunicationAlone)
	}
	fall := (start - m.LeastCommunicationShare) / float64(m.ComputationAloneCores-last)
	return start - fall*float64(n-last)
}

// Alone returns the bandwidth of n computing cores without communication
// (eq. 8).
func (m Instance) Alone(n int) units.Bandwidth {
	return min(m.wanted(n), m.total(n), m.ComputationAlone)
}
