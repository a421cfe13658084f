package measure

import (
	"context"

	"github.com/spf13/pflag"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/units"
)

// communicationFlags say what an application exchanges over the network, or how to
// find out.
type communicationFlags struct {
	measure        bool
	interfaces     []string
	sent, received string
	messageSize    string
	overlapped     bool
	overlapKnown   bool
	apart          bool
}

func (f *communicationFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.measure, "measure-communication", false, "measure what CMD sends and receives, by the counters of this network namespace's interfaces")
	flags.StringSliceVar(&f.interfaces, "interface", nil, "with --measure-communication, the interfaces that count (default: all but the loopback and stacked ones, such as bonds, bridges and VLANs)")
	flags.StringVar(&f.sent, "sent", "", "bandwidth that CMD sends to other nodes, for example 120MB/s, if it is not measured")
	flags.StringVar(&f.received, "received", "", "bandwidth that CMD receives from other nodes, for example 120MB/s")
	flags.StringVar(&f.messageSize, "message-size", "", "size of a message, for example 1MiB")
	flags.BoolVar(&f.overlapped, "overlapped", false, "CMD computes while it communicates; --overlapped=false means that it waits (default: unknown)")
	flags.BoolVar(&f.apart, "communication-apart", false, "CMD does not communicate during the measurement; --sent and --received describe its production runs")
}

// chooseFrom remembers what was said of the overlap.
func (f *communicationFlags) chooseFrom(flags *pflag.FlagSet) {
	f.overlapKnown = flags.Changed("overlapped")
}

// declared is what the flags say; nil where they say nothing. What is to be
// measured has no rates yet.
func (f *communicationFlags) declared() (*v1alpha1.Communication, error) {
	rates := f.sent != "" || f.received != ""
	switch {
	case f.measure && (rates || f.apart):
		return nil, cli.Usagef("--measure-communication: not with --sent, --received or --communication-apart, which declare it")
	case len(f.interfaces) > 0 && !f.measure:
		return nil, cli.Usagef("--interface: want --measure-communication with it")
	case !f.measure && !rates && (f.messageSize != "" || f.overlapKnown || f.apart):
		return nil, cli.Usagef("--message-size, --overlapped and --communication-apart: want --measure-communication, --sent or --received with them")
	case !f.measure && !rates:
		return nil, nil //nolint:nilnil // nothing is known
	}
	c := &v1alpha1.Communication{Source: v1alpha1.CommunicationDeclared, Apart: f.apart}
	for _, rate := range []struct {
		flag, text string
		into       **float64
	}{{"--sent", f.sent, &c.SentBytesPerSecond}, {"--received", f.received, &c.ReceivedBytesPerSecond}} {
		if rate.text == "" {
			continue
		}
		b, err := units.ParseBandwidth(rate.text)
		if err != nil {
			return nil, cli.Usagef("%s: %w", rate.flag, err)
		}
		*rate.into = new(float64(b))
	}
	size, err := cli.ParseBytes("--message-size", f.messageSize)
	if err != nil {
		return nil, err
	}
	if size > 0 {
		c.MessageBytes = &size
	}
	if f.overlapKnown {
		c.Overlapped = &f.overlapped
	}
	return c, nil
}

// exchanged measures what the application exchanges, where that was asked for; nil
// otherwise.
func (j onboarding) exchanged(ctx context.Context, session *bench.Session) (*onboard.Exchanged, error) {
	if !j.measureCommunication {
		return nil, nil //nolint:nilnil // nothing is to be measured
	}
	j.app.Notef("Measuring what %s sends and receives.\n", j.application.Name)
	return onboard.MeasureCommunication(ctx, session, j.application, j.interfaces)
}

// communicate completes the profile by what is known of the communication.
func (j onboarding) communicate(p *v1alpha1.ApplicationProfile, measured *onboard.Exchanged) {
	if measured == nil {
		p.Spec.Communication = j.communication
		return
	}
	c := measured.Communication(p.Spec.Solo)
	c.MessageBytes, c.Overlapped = j.communication.MessageBytes, j.communication.Overlapped
	p.Spec.Communication = c
}
