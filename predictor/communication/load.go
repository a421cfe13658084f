package communication

import (
	"fmt"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// Load is an application's communication on a machine. It is immutable and safe for
// concurrent use.
type Load struct {
	machine *Machine
	// out and in are the shares of the run alone that sending and receiving
	// take at the rate of one communication; they go on at the same time.
	out, in float64
	// waiting is the share that the latency of messages takes.
	waiting           float64
	overlapped, apart bool
	gaps              Gap
}

// Gap is a set of unknown or implausible properties of a communication.
type Gap uint

// The gaps.
const (
	// NoNetwork means that the machine's profile says nothing of its network: the
	// slowdown is that of memory alone.
	NoNetwork Gap = 1 << iota
	// NoBusSharing means that the loss on the bus is not known, and left out.
	NoBusSharing
	// NoOverlap means that it is not known whether the application waits; it is
	// assumed to, which is slower.
	NoOverlap
	// NoSent and NoReceived mean that this direction is not known, and left out.
	NoSent
	NoReceived
	// AboveRate means that the application exchanges more than the network
	// carries; it is assumed to communicate all the time.
	AboveRate
	// BeyondModel means that the model of the network does not cover so many
	// communications; they are assumed to share the bandwidth of the most that it
	// covers or, if it covers none in that direction, not to share.
	BeyondModel
	// PeersUnknown means that the communication of neighbors is unknown; they are
	// assumed not to use the card.
	PeersUnknown
	// NotConverged means that the last step is used as the fixed point.
	NotConverged
)

// tooMuch is how far above its rate a network may seem to carry: what is measured
// has noise and headers.
const tooMuch = 1.1

// Load returns communication c on machine m, which is nil when unknown.
func (m *Machine) Load(c *v1alpha1.Communication) *Load {
	l := &Load{machine: m, apart: c.Apart}
	if c.Overlapped == nil {
		l.gaps |= NoOverlap
	} else {
		l.overlapped = *c.Overlapped
	}
	if c.SentBytesPerSecond == nil {
		l.gaps |= NoSent
	}
	if c.ReceivedBytesPerSecond == nil {
		l.gaps |= NoReceived
	}
	if m == nil || m.rate == 0 {
		l.gaps |= NoNetwork
		return l
	}
	if c.Apart && m.bus == nil {
		l.gaps |= NoBusSharing
	}
	share := func(rate *float64) float64 {
		part := value(rate) / float64(m.rate)
		if part > tooMuch {
			l.gaps |= AboveRate
		}
		return min(part, 1)
	}
	l.out, l.in = share(c.SentBytesPerSecond), share(c.ReceivedBytesPerSecond)
	if c.MessageBytes != nil && m.latency != nil {
		messages := max(value(c.SentBytesPerSecond), value(c.ReceivedBytesPerSecond)) / float64(*c.MessageBytes)
		l.waiting = min(messages**m.latency, 1-max(l.out, l.in))
	}
	return l
}

// Share returns the part of the run alone that communication takes, 0 to 1; false
// where the network is not known.
func (l *Load) Share() (share float64, known bool) {
	return max(l.out, l.in) + l.waiting, l.gaps&NoNetwork == 0
}

// Overlapped reports whether the application computes while it communicates.
func (l *Load) Overlapped() bool { return l.overlapped }

// MachineName is the name of the machine; empty where it is not known.
func (l *Load) MachineName() string {
	if l.machine == nil {
		return ""
	}
	return l.machine.name
}

// Traffic returns the memory traffic of a communication on its node: sent bytes are read,
// received bytes are written (Denis et al.). A protocol that copies causes more.
func Traffic(c *v1alpha1.Communication) units.Traffic {
	return units.Traffic{Read: units.Bandwidth(value(c.SentBytesPerSecond)), Write: units.Bandwidth(value(c.ReceivedBytesPerSecond))}
}

// Remarks describes each gap of an application's communication in words.
func (g Gap) Remarks(application, machine string) []string {
	if machine == "" {
		machine = "the machine"
	}
	var all []string
	for _, r := range []struct {
		gap  Gap
		text string
	}{
		{NoNetwork, fmt.Sprintf("%s communicates, but the profile of %s says nothing of its network: only the part of memory is predicted; add it with: bandmate machine network", application, machine)},
		{NoBusSharing, fmt.Sprintf("how the bus of %s is shared with communication is not known: that part is left out; measure a sweep and add it with: bandmate machine network --bus-sharing", machine)},
		{NoOverlap, fmt.Sprintf("whether %s computes while it communicates is not known: it is taken to wait", application)},
		{NoSent, fmt.Sprintf("what %s sends is not known, and left out", application)},
		{NoReceived, fmt.Sprintf("what %s receives is not known, and left out", application)},
		{AboveRate, fmt.Sprintf("%s exchanges more than the network of %s carries: one of the profiles is wrong", application, machine)},
		{BeyondModel, fmt.Sprintf("the model of the network of %s says nothing of so many communications at once", machine)},
		{PeersUnknown, "there are neighbors of whose communication nothing is known: they are taken not to use the network"},
		{NotConverged, "the penalties did not converge: the last step is given"},
	} {
		if g&r.gap != 0 {
			all = append(all, r.text)
		}
	}
	return all
}
