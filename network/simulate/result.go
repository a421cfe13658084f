package simulate

import (
	"fmt"
	"strings"
)

// Result is how a scenario went.
type Result struct {
	Model string
	// TotalSeconds is when the last task ended.
	TotalSeconds float64
	// Tasks in the order of the scenario.
	Tasks []TaskResult
}

// TaskResult is how one task went.
type TaskResult struct {
	Application string
	// Task is its number in the application, Node where it ran.
	Task, Node int
	// ComputeSeconds and CommunicationSeconds are spent in its events, waiting
	// for the other side included; TotalSeconds is when it ended, their sum.
	ComputeSeconds, CommunicationSeconds, TotalSeconds float64
	BytesSent, BytesReceived                           int64
	// Sent are the messages that it sent through the network, and Local those
	// that it sent within its node.
	Sent, Local int
	// MeanPenalty and MaxPenalty are over the messages that it sent through
	// the network: the time after the latency ÷ that time alone. 0 without any.
	MeanPenalty, MaxPenalty float64
	// Conflicts are how many of them were ever in a conflict of each kind.
	Conflicts Conflicts
}

// Conflicts counts messages by the elementary conflicts of section IV.A; one
// message may be in several.
type Conflicts struct {
	// Outgoing left a node together with others, Incoming arrived at one
	// together with others, and IncomeOutgo left a node at which others
	// arrived, or arrived at one that others left.
	Outgoing, Incoming, IncomeOutgo int
}

// Deadlock is returned when tasks wait for each other, or for what nobody does.
type Deadlock struct {
	// Seconds is when nothing could go on.
	Seconds float64
	// Waiting says, for some tasks, at which event each waits for what.
	Waiting []string
	// Tasks is how many wait.
	Tasks int
}

func (d *Deadlock) Error() string {
	more := ""
	if n := d.Tasks - len(d.Waiting); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("deadlock after %.6g s: %s%s", d.Seconds, strings.Join(d.Waiting, "; "), more)
}
