package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
)

// communicationRuns is how often an application is run for what it exchanges.
const communicationRuns = 3

const (
	// mostForeign is which part of the bytes of a run others may cause: they are
	// taken away, but nobody knows what they did meanwhile.
	mostForeign = 0.05
	// littleForeign, in bytes per second, is what every network has: neighbor
	// discovery, keepalives.
	littleForeign = 10e3
	// foreignWindow is the longest look at the network without the application.
	foreignWindow = time.Second
)

// ErrNotAlone is wrapped where others use the network interfaces so much that
// nobody can tell what an application exchanges.
var ErrNotAlone = errors.New("others use the network, too")

// Exchanged is what an application sent and received in a run, in bytes.
type Exchanged struct {
	// Sent and Received are medians over the runs.
	Sent, Received float64
	// Repeats is how many runs there were, RelativeSpread the standard deviation of
	// what they exchanged ÷ its median; nil with fewer than two, or where there
	// was nothing.
	Repeats        int
	RelativeSpread *float64
}

// Communication returns what was exchanged as rates over a run of a time, which is
// that of the profile: the bytes of a run hardly vary, its time may. Size of
// messages and overlap are not told by counters and stay unknown.
func (e Exchanged) Communication(run v1alpha1.Timing) *v1alpha1.Communication {
	return &v1alpha1.Communication{
		Source:             v1alpha1.CommunicationMeasured,
		SentBytesPerSecond: new(e.Sent / run.Seconds), ReceivedBytesPerSecond: new(e.Received / run.Seconds),
		Repeats: e.Repeats, RelativeSpread: e.RelativeSpread,
	}
}

// MeasureCommunication runs an application alone and reads from the counters of
// this network namespace's interfaces, all but the loopback without a name, what
// it sends and receives. What others exchange before each run is taken away; it
// fails with ErrNotAlone where that is much.
func (s *Session) MeasureCommunication(ctx context.Context, a Application, interfaces []string) (*Exchanged, error) {
	var runs []exchanged
	window := foreignWindow
	for range communicationRuns {
		before, err := readInterfaces(interfaces)
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(window):
		}
		start, err := readInterfaces(interfaces)
		if err != nil {
			return nil, err
		}
		observation, err := s.RunBeside(ctx, a.Command, interferer.Setting{Mode: interferer.Spin})
		if err != nil {
			return nil, fmt.Errorf("%s alone: %w", a.Name, err)
		}
		end, err := readInterfaces(interfaces)
		if err != nil {
			return nil, err
		}
		runs = append(runs, exchanged{
			seconds: observation.Wall.Seconds(), received: rise(start.Received, end.Received), sent: rise(start.Sent, end.Sent),
			foreignReceived: rise(before.Received, start.Received) / window.Seconds(), foreignSent: rise(before.Sent, start.Sent) / window.Seconds(),
		})
	}
	return communicationOf(runs)
}

// rise is how far a counter has come; one that fell was reset.
func rise(from, to uint64) float64 {
	if to < from {
		return float64(to)
	}
	return float64(to - from)
}

// exchanged is what went through the interfaces during a run, in bytes, and
// before it, in bytes per second.
type exchanged struct {
	seconds, received, sent      float64
	foreignReceived, foreignSent float64
}

// communicationOf is what the runs tell of the application.
func communicationOf(runs []exchanged) (*Exchanged, error) {
	var sent, received, totals, rates []float64
	var foreign float64
	for _, r := range runs {
		own := func(bytes, others float64) float64 { return max(bytes-others*r.seconds, 0) }
		out, in := own(r.sent, r.foreignSent), own(r.received, r.foreignReceived)
		sent, received, totals = append(sent, out), append(received, in), append(totals, out+in)
		rates = append(rates, (out+in)/r.seconds)
		foreign = max(foreign, r.foreignSent+r.foreignReceived)
	}
	if foreign > max(littleForeign, mostForeign*median(rates)) {
		return nil, fmt.Errorf("what the application exchanges: %w: %.3g bytes/s go through the interfaces without it; run it in a network namespace of its own, name its interface, or declare its rates", ErrNotAlone, foreign)
	}
	e := &Exchanged{Sent: median(sent), Received: median(received), Repeats: len(runs)}
	if sd, middle := spread(totals), median(totals); sd != nil && middle > 0 {
		e.RelativeSpread = new(*sd / middle)
	}
	return e, nil
}
