package overlap

import (
	"errors"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/internal/stats"
)

// Step is a time step of Langguth et al. (section IV) that computes and
// communicates at once.
type Step struct {
	// Computation and Communication are T_M and T_N, the times that each takes
	// alone: 0 or more.
	Computation, Communication time.Duration
	// ComputationLoss and CommunicationLoss are L_M and L_N, the bandwidth
	// alone ÷ the bandwidth beside the other: finite, 1 or more.
	ComputationLoss, CommunicationLoss float64
}

// maxTime, ten years, bounds the times of a step so that no product overflows.
const maxTime = 10 * 365 * 24 * time.Hour

// maxLoss bounds the loss ratios for the same reason.
const maxLoss = 1e6

// Validate reports every value that is out of range.
func (s Step) Validate() error {
	return errors.Join(
		checkTime("computation", s.Computation), checkTime("communication", s.Communication),
		checkLoss("computation", s.ComputationLoss), checkLoss("communication", s.CommunicationLoss))
}

func checkTime(name string, d time.Duration) error {
	if d < 0 || d > maxTime {
		return fmt.Errorf("%s of %v: want a time from 0 to ten years", name, d)
	}
	return nil
}

func checkLoss(name string, ratio float64) error {
	if !(ratio >= 1 && ratio <= maxLoss) {
		return fmt.Errorf("%s loss of %v: want the bandwidth alone ÷ the bandwidth beside the other, 1 to %g", name, ratio, maxLoss)
	}
	return nil
}

// Part names one of the two parts of a step.
type Part string

// The parts of a step.
const (
	Computation   Part = "computation"
	Communication Part = "communication"
)

// StepTime is the time of a step.
type StepTime struct {
	// TotalSeconds is T_tot.
	TotalSeconds float64
	// ComputationSeconds and CommunicationSeconds are T_M^C and T_N^C, the times
	// of each if the other never ended.
	ComputationSeconds, CommunicationSeconds float64
	// LimitedBy is the part that ends last.
	LimitedBy Part
}

// Time returns the time of the step. Both parts run under contention until the
// shorter has ended, and the rest of the other runs alone.
//
//	T_tot = min(T_M^C, T_N^C) + max((T_M^C − T_N^C)/L_M, (T_N^C − T_M^C)/L_N)
func (s Step) Time() (StepTime, error) {
	if err := s.Validate(); err != nil {
		return StepTime{}, err
	}
	return stepTime(s.Computation.Seconds(), s.Communication.Seconds(), s.ComputationLoss, s.CommunicationLoss), nil
}

func stepTime(computation, communication, computationLoss, communicationLoss float64) StepTime {
	t := StepTime{
		ComputationSeconds:   computation * computationLoss,
		CommunicationSeconds: communication * communicationLoss,
		LimitedBy:            Computation,
	}
	rest := (t.ComputationSeconds - t.CommunicationSeconds) / computationLoss
	if t.CommunicationSeconds > t.ComputationSeconds {
		t.LimitedBy = Communication
		rest = (t.CommunicationSeconds - t.ComputationSeconds) / communicationLoss
	}
	t.TotalSeconds = math.Min(t.ComputationSeconds, t.CommunicationSeconds) + rest
	return t
}

// Heterogeneous is a step whose work is divided between processors and accelerators
// (section VI).
type Heterogeneous struct {
	// Step is as if the processors did all the work: Computation is W_M ÷ P_M.
	Step
	// Accelerator is the time of all the work on the accelerators, W_M ÷ P_A: above
	// 0.
	Accelerator time.Duration
}

// Validate reports every value that is out of range.
func (h Heterogeneous) Validate() error {
	err := checkTime("accelerator", h.Accelerator)
	if h.Accelerator == 0 {
		err = errors.New("accelerator of 0: want the time in which it does all the work")
	}
	return errors.Join(h.Step.Validate(), err)
}

// SplitTime is the time of a heterogeneous step.
type SplitTime struct {
	// AcceleratorShare is w, the share of the work on the accelerators.
	AcceleratorShare float64
	// TotalSeconds is the larger of AcceleratorSeconds and
	// Processors.TotalSeconds.
	TotalSeconds, AcceleratorSeconds float64
	Processors                       StepTime
}

// At returns the time of the step with a share of the work, 0 to 1, on the
// accelerators.
func (h Heterogeneous) At(share float64) (SplitTime, error) {
	if err := h.Validate(); err != nil {
		return SplitTime{}, err
	}
	if !(share >= 0 && share <= 1) {
		return SplitTime{}, fmt.Errorf("share of %v: want 0 to 1", share)
	}
	return h.at(share), nil
}

func (h Heterogeneous) at(share float64) SplitTime {
	s := SplitTime{
		AcceleratorShare:   share,
		AcceleratorSeconds: h.Accelerator.Seconds() * share,
		Processors:         stepTime(h.Computation.Seconds()*(1-share), h.Communication.Seconds(), h.ComputationLoss, h.CommunicationLoss),
	}
	s.TotalSeconds = math.Max(s.AcceleratorSeconds, s.Processors.TotalSeconds)
	return s
}

// Best returns the share of the accelerators with which the step is shortest: where
// both sides end together, or 1 if the processors, which communicate in any case,
// end last even without work. More work on the accelerators never slows the
// processors down, so bisection finds it.
func (h Heterogeneous) Best() (SplitTime, error) {
	if err := h.Validate(); err != nil {
		return SplitTime{}, err
	}
	if all := h.at(1); all.AcceleratorSeconds <= all.Processors.TotalSeconds {
		return all, nil
	}
	share, _ := stats.Bisect(0, 1, 60, func(share float64) bool {
		s := h.at(share)
		return s.AcceleratorSeconds < s.Processors.TotalSeconds
	})
	return h.at(share), nil
}
