package simulate

import (
	"fmt"
	"strings"
)

// Result is the outcome of a scenario.
type Result struct {
	Model string
	// TotalSeconds is the time at which the last task ended.
	TotalSeconds float64
	// Tasks in the order of the scenario.
	Tasks []TaskResult
}

// TaskResult is the outcome of one task.
type TaskResult struct {
	Application string
	// Task is its number in the application, Node the node on which it ran.
	Task, Node int
	// ComputeSeconds and CommunicationSeconds are spent in its events, including
	// waiting for the other side; TotalSeconds is their sum, when it ended.
	ComputeSeconds, CommunicationSeconds, TotalSeconds float64
	BytesSent, BytesReceived                           int64
	// Sent counts the messages that it sent through the network, and Local those
	// within its node.
	Sent, Local int
	// MeanPenalty and MaxPenalty are over the messages that it sent through the
	// network: the time after the latency ÷ that time alone; 0 without messages.
	MeanPenalty, MaxPenalty float64
	// Conflicts counts those that were in a conflict of each kind.
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

// Deadlock is the error of tasks that wait for each other, or for a message that is
// never sent or received.
type Deadlock struct {
	// Seconds is the time of the deadlock.
	Seconds float64
	// Waiting describes what some of the tasks wait for.
	Waiting []string
	// Tasks is the number of waiting tasks.
	Tasks int
}

func (d *Deadlock) Error() string {
	more := ""
	if n := d.Tasks - len(d.Waiting); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("deadlock after %.6g s: %s%s", d.Seconds, strings.Join(d.Waiting, "; "), more)
}
