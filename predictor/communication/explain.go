package communication

import (
	"fmt"
	"strings"

	"bandmate.dev/bandmate/units"
)

// Shown is Parts for output; unknown values are absent.
type Shown struct {
	// MemorySlowdown is M, the slowdown by memory traffic.
	MemorySlowdown units.Slowdown `json:"memorySlowdown"`
	// CommunicationShare is n, the part of the run alone that communication takes.
	CommunicationShare *float64 `json:"communicationShare,omitempty"`
	// CardPenalty is P, the time of the communication beside that of others ÷
	// without.
	CardPenalty *float64 `json:"cardPenalty,omitempty"`
	// BusLoss is L, the bandwidth of the communication on the bus without the
	// others ÷ beside them; absent where the curves hold it.
	BusLoss *float64 `json:"busLoss,omitempty"`
	// Overlapped is true where the application computes meanwhile.
	Overlapped bool `json:"overlapped"`
	// Equation is how they make up the slowdown.
	Equation string `json:"equation,omitempty"`
}

// Show returns p for output; nil for a member that does not communicate.
func (p Parts) Show() *Shown {
	if !p.Communicates {
		return nil
	}
	s := &Shown{MemorySlowdown: p.Memory, Overlapped: p.Overlapped, Equation: p.Equation()}
	if p.Gaps&NoNetwork == 0 {
		s.CommunicationShare = &p.Share
		if p.Gaps&BeyondModel == 0 {
			s.CardPenalty = &p.Penalty
		}
	}
	if p.Apart && p.Gaps&(NoNetwork|NoBusSharing) == 0 {
		s.BusLoss = &p.Bus
	}
	return s
}

// Equation returns the equation of the slowdown with its numbers; empty for a member that
// does not communicate or whose network is unknown.
func (p Parts) Equation() string {
	if !p.Communicates || p.Gaps&NoNetwork != 0 {
		return ""
	}
	share := p.Share - p.Latency
	factors := []string{fmt.Sprintf("%.3f", share)}
	if p.Apart {
		factors = append(factors, fmt.Sprintf("%.3f", p.Bus))
	}
	factors = append(factors, fmt.Sprintf("%.3f", p.Penalty))
	stretched := strings.Join(factors, "·")
	if p.Latency > 0 && (p.Overlapped || p.Apart) {
		stretched += fmt.Sprintf(" + %.3f", p.Latency)
	}
	memory := float64(p.Memory)
	switch {
	case p.Overlapped:
		return fmt.Sprintf("max(%.3f, %s) = %.3f", memory, stretched, float64(p.Slowdown))
	case p.Apart:
		return fmt.Sprintf("%.3f·%.3f + %s = %.3f", 1-p.Share, memory, stretched, float64(p.Slowdown))
	}
	return fmt.Sprintf("%.3f + %.3f·(%.3f − 1) = %.3f", memory, share, p.Penalty, float64(p.Slowdown))
}
