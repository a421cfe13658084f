package communication

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/units"
)

// Machine is how communications share the card and the memory bus of a machine.
// It is immutable and safe for concurrent use.
type Machine struct {
	name string
	// rate is what one communication reaches alone; 0 where the network is not
	// known.
	rate    units.Bandwidth
	latency *float64 // seconds; nil when not known
	// leaving and arriving are the penalties of 1, 2, … communications that share
	// one side of the card; none where the model says nothing.
	leaving, arriving []float64
	bus               *overlap.Instance // nil when not known
}

// mostPeers is the highest number of communications on one card for which penalties are
// computed. Beyond, they grow in proportion.
const mostPeers = 32

// NewMachine returns the communication model of a machine's profile. The error names the
// field of each parameter that the models refuse.
func NewMachine(p *v1alpha1.MachineProfile) (*Machine, error) {
	m := &Machine{name: p.Name}
	var faults []error
	if n := p.Spec.Network; n != nil {
		faults = append(faults, m.connect(n))
	}
	if b := p.Spec.BusSharing; b != nil {
		bus := instanceOf(b.Local)
		if err := bus.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("spec.busSharing.local: %w", err))
		} else if bus.LeastCommunicationShare == 0 {
			faults = append(faults, errors.New("spec.busSharing.local.leastCommunicationShare of 0: a communication that gets nothing never ends: measure the sweep again"))
		}
		m.bus = &bus
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("machine %s: %w", p.Name, err)
	}
	return m, nil
}

func instanceOf(b v1alpha1.BusSharingInstance) overlap.Instance {
	return overlap.Instance{
		CommunicationAlone:           units.Bandwidth(b.CommunicationAloneBytesPerSecond),
		LeastCommunicationShare:      b.LeastCommunicationShare,
		ComputationPerCore:           units.Bandwidth(b.ComputationPerCoreBytesPerSecond),
		ComputationAlone:             units.Bandwidth(b.ComputationAloneBytesPerSecond),
		ComputationAloneCores:        b.ComputationAloneCores,
		Total:                        units.Bandwidth(b.TotalBytesPerSecond),
		TotalCores:                   b.TotalCores,
		TotalAtComputationAloneCores: units.Bandwidth(b.TotalAtComputationAloneCoresBytesPerSecond),
		LossBefore:                   units.Bandwidth(b.LossBeforeBytesPerSecond),
		LossAfter:                    units.Bandwidth(b.LossAfterBytesPerSecond),
	}
}

func (m *Machine) connect(n *v1alpha1.Network) error {
	var model network.Model
	switch n.Model {
	case network.NameGigabitEthernet:
		parameters := network.GigabitEthernet{Beta: value(n.Beta), GammaOut: value(n.GammaOut), GammaIn: value(n.GammaIn)}
		if err := parameters.Validate(); err != nil {
			return fmt.Errorf("spec.network: %w", err)
		}
		model = parameters
	case network.NameMyrinet:
		model = network.Myrinet{}
	case network.NameInfiniband:
		model = network.Infiniband{}
	default:
		return fmt.Errorf("spec.network.model %q: want one of %v", n.Model, network.ModelNames())
	}
	if !(n.BytesPerSecond > 0) || !units.Bandwidth(n.BytesPerSecond).Valid() {
		return fmt.Errorf("spec.network.bytesPerSecond of %v: want a finite rate above 0", n.BytesPerSecond)
	}
	m.rate, m.latency = units.Bandwidth(n.BytesPerSecond), n.LatencySeconds
	var err error
	if m.leaving, err = penalties(model, func(i int) network.Communication { return network.Communication{From: 0, To: i} }); err != nil {
		return fmt.Errorf("spec.network: %w", err)
	}
	if m.arriving, err = penalties(model, func(i int) network.Communication { return network.Communication{From: i, To: 0} }); err != nil {
		return fmt.Errorf("spec.network: %w", err)
	}
	return nil
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// penalties returns those of 1, 2, … communications of a kind at once, as far as
// the model goes. The other ends are all different: who is there is not known.
func penalties(model network.Model, communication func(i int) network.Communication) ([]float64, error) {
	var all []float64
	var conflict []network.Communication
	for k := 1; k <= mostPeers; k++ {
		c := communication(k)
		c.Name = fmt.Sprint(k)
		conflict = append(conflict, c)
		p, err := model.Penalties(conflict)
		if errors.Is(err, network.ErrUnsupported) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, max(p[0], 1))
	}
	return all, nil
}

// penalty returns that of k ≥ 1 communications on one side of a card. Beyond the
// last one that is known they share what those get.
func penalty(known []float64, k int) float64 {
	if k <= len(known) {
		return known[k-1]
	}
	last := len(known)
	return known[last-1] * float64(k) / float64(last)
}

// loss returns L, 1 or more: the bandwidth of a communication on the bus beside its own
// computing cores alone ÷ beside others, too. The model counts cores; traffic is converted
// to cores with linear interpolation.
func (m *Machine) loss(own, others units.Bandwidth) float64 {
	perCore := m.bus.ComputationPerCore
	return max(1, m.communicationBeside(float64(own/perCore))/m.communicationBeside(float64((own+others)/perCore)))
}

// mostCores bounds the number of cores that traffic may stand for.
const mostCores = 1 << 12

func (m *Machine) communicationBeside(cores float64) float64 {
	cores = min(cores, mostCores)
	whole := int(cores)
	part := cores - float64(whole)
	low, high := m.communicationOf(whole), m.communicationOf(whole+1)
	return low + part*(high-low)
}

// communicationOf is eq. 4, but never less than what the paper takes to be the
// least: beyond the cores of the sweep the line of the total falls to nothing.
func (m *Machine) communicationOf(cores int) float64 {
	_, communication := m.bus.Together(cores)
	return max(float64(communication), m.bus.LeastCommunicationShare*float64(m.bus.CommunicationAlone))
}
