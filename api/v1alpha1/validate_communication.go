package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxMessageBytes is 1 EiB, above every message.
const MaxMessageBytes = 1 << 60

const wantParameter = "want a number from 0 to 1"

func (f *faults) communication(p *field.Path, c *Communication) {
	if c == nil {
		return
	}
	f.oneOf(p.Child("source"), c.Source, CommunicationMeasured, CommunicationDeclared)
	if c.SentBytesPerSecond == nil && c.ReceivedBytesPerSecond == nil {
		f.list = append(f.list, field.Required(p, "want sentBytesPerSecond, receivedBytesPerSecond or both; without either, leave communication out"))
	}
	if r := c.SentBytesPerSecond; r != nil {
		f.bandwidth(p.Child("sentBytesPerSecond"), *r)
	}
	if r := c.ReceivedBytesPerSecond; r != nil {
		f.bandwidth(p.Child("receivedBytesPerSecond"), *r)
	}
	if m := c.MessageBytes; m != nil && (*m < 1 || *m > MaxMessageBytes) {
		f.invalid(p.Child("messageBytes"), *m, "want bytes, 1 or more, or the field absent when unknown")
	}
	f.atLeast(p.Child("repeats"), c.Repeats, 0)
	f.spread(p.Child("relativeSpread"), c.RelativeSpread, c.Repeats)
	switch {
	case c.Source == CommunicationMeasured && c.Repeats == 0:
		f.invalid(p.Child("repeats"), c.Repeats, "want how many runs were measured")
	case c.Source == CommunicationDeclared && c.Repeats != 0:
		f.invalid(p.Child("repeats"), c.Repeats, "want none where the rates are declared")
	case c.Source == CommunicationMeasured && c.Apart:
		f.invalid(p.Child("apart"), c.Apart, "want false: what was measured while the application was onboarded was not apart")
	}
}

func (f *faults) network(p *field.Path, n *Network) {
	if n == nil {
		return
	}
	const ethernet = "gigabit-ethernet"
	models := []string{ethernet, "myrinet", "infiniband"}
	f.oneOf(p.Child("model"), n.Model, models...)
	f.within(p.Child("bytesPerSecond"), n.BytesPerSecond, MinBytesPerSecond, MaxBytesPerSecond, "want bytes per second, 1e3 to 1e13 (is this in GB/s?)")
	if l := n.LatencySeconds; l != nil {
		f.within(p.Child("latencySeconds"), *l, 0, MaxSeconds, "want seconds, 0 to 1e9, or the field absent when unknown")
	}
	for _, parameter := range []struct {
		name  string
		value *float64
	}{{"beta", n.Beta}, {"gammaOut", n.GammaOut}, {"gammaIn", n.GammaIn}} {
		at := p.Child(parameter.name)
		switch {
		case n.Model == ethernet && parameter.value == nil:
			f.list = append(f.list, field.Required(at, "want the parameter of gigabit-ethernet, as bandmate network fit finds it"))
		case n.Model != ethernet && parameter.value != nil && slices.Contains(models, n.Model):
			f.invalid(at, *parameter.value, "want it absent: it is a parameter of gigabit-ethernet")
		case parameter.value == nil:
		case parameter.name == "beta":
			f.above(at, *parameter.value, 0, 1, "want a number above 0 to 1")
		default:
			f.within(at, *parameter.value, 0, 1, wantParameter)
		}
	}
}

func (f *faults) busSharing(p *field.Path, b *BusSharing) {
	if b == nil {
		return
	}
	f.atLeast(p.Child("nodesPerSocket"), b.NodesPerSocket, 1)
	f.busSharingInstance(p.Child("local"), &b.Local)
	if b.Remote != nil {
		f.busSharingInstance(p.Child("remote"), b.Remote)
	}
}

func (f *faults) busSharingInstance(p *field.Path, b *BusSharingInstance) {
	for _, rate := range []struct {
		name  string
		value float64
	}{
		{"communicationAloneBytesPerSecond", b.CommunicationAloneBytesPerSecond},
		{"computationPerCoreBytesPerSecond", b.ComputationPerCoreBytesPerSecond},
		{"computationAloneBytesPerSecond", b.ComputationAloneBytesPerSecond},
		{"totalBytesPerSecond", b.TotalBytesPerSecond},
		{"totalAtComputationAloneCoresBytesPerSecond", b.TotalAtComputationAloneCoresBytesPerSecond},
	} {
		f.within(p.Child(rate.name), rate.value, MinBytesPerSecond, MaxBytesPerSecond, "want bytes per second, 1e3 to 1e13 (is this in GB/s?)")
	}
	f.share(p.Child("leastCommunicationShare"), b.LeastCommunicationShare)
	f.atLeast(p.Child("computationAloneCores"), b.ComputationAloneCores, 1)
	f.atLeast(p.Child("totalCores"), b.TotalCores, 1)
	const wantLoss = "want bytes per second, -1e13 to 1e13"
	f.within(p.Child("lossBeforeBytesPerSecond"), b.LossBeforeBytesPerSecond, -MaxBytesPerSecond, MaxBytesPerSecond, wantLoss)
	f.within(p.Child("lossAfterBytesPerSecond"), b.LossAfterBytesPerSecond, -MaxBytesPerSecond, MaxBytesPerSecond, wantLoss)
}
