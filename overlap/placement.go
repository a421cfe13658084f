package overlap

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/units"
)

// Parameters are the two instances of the model that together say what happens
// wherever the data lie (section III.C).
type Parameters struct {
	// NodesPerSocket is #m, the NUMA nodes of the socket whose cores compute.
	// They have the numbers from 0; those from NodesPerSocket on are remote.
	NodesPerSocket int `json:"nodesPerSocket"`
	// Local was measured with all data on node 0, Remote with all data on the
	// first remote node; nil on a machine with one socket.
	Local  Instance  `json:"local"`
	Remote *Instance `json:"remote,omitempty"`
}

// Validate reports every fault of p at once.
func (p Parameters) Validate() error {
	var faults []error
	if p.NodesPerSocket < 1 {
		faults = append(faults, fmt.Errorf("nodesPerSocket of %d: want 1 or more", p.NodesPerSocket))
	}
	if err := p.Local.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("local: %w", err))
	}
	if p.Remote != nil {
		if err := p.Remote.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("remote: %w", err))
		}
	}
	return errors.Join(faults...)
}

// Placement is the place of the data.
type Placement struct {
	// ComputationNode and CommunicationNode are NUMA nodes.
	ComputationNode, CommunicationNode int
}

// ErrPlacement is returned for a node that the parameters do not cover.
var ErrPlacement = errors.New("the parameters do not cover this placement")

// Bandwidths are those of computation and communication.
type Bandwidths struct {
	Computation, Communication units.Bandwidth
}

// Total returns the sum of both.
func (b Bandwidths) Total() units.Bandwidth { return b.Computation + b.Communication }

// Together returns the bandwidths of communication and of n computing cores, 0
// or more, that run at the same time (eq. 6 and 7). The parameters are valid.
func (p Parameters) Together(n int, at Placement) (Bandwidths, error) {
	if n < 0 {
		return Bandwidths{}, fmt.Errorf("%d computing cores: want 0 or more", n)
	}
	if at.ComputationNode < 0 || at.CommunicationNode < 0 {
		return Bandwidths{}, fmt.Errorf("nodes %d and %d: want NUMA nodes from 0", at.ComputationNode, at.CommunicationNode)
	}
	computationRemote, communicationRemote := at.ComputationNode >= p.NodesPerSocket, at.CommunicationNode >= p.NodesPerSocket
	if p.Remote == nil && (computationRemote || communicationRemote) {
		return Bandwidths{}, fmt.Errorf("computation on node %d, communication on node %d: only the %d local were measured: %w", at.ComputationNode, at.CommunicationNode, p.NodesPerSocket, ErrPlacement)
	}
	computing := p.Local
	if computationRemote {
		computing = *p.Remote
	}
	var b Bandwidths
	if at.ComputationNode == at.CommunicationNode {
		b.Computation, b.Communication = computing.Together(n)
		return b, nil
	}
	b.Computation = computing.Alone(n)
	communicating := p.Local
	if communicationRemote {
		communicating.CommunicationAlone = p.Remote.CommunicationAlone
	}
	_, b.Communication = communicating.Together(n)
	return b, nil
}

// Alone returns the bandwidth of each without the other.
func (p Parameters) Alone(n int, at Placement) (Bandwidths, error) {
	if _, err := p.Together(n, at); err != nil {
		return Bandwidths{}, err
	}
	instance := func(node int) Instance {
		if node >= p.NodesPerSocket {
			return *p.Remote
		}
		return p.Local
	}
	return Bandwidths{instance(at.ComputationNode).Alone(n), instance(at.CommunicationNode).CommunicationAlone}, nil
}
