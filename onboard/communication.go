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
	// littleForeign, in bytes per second, is what every network has: neighbour
	// discovery, keepalives.
	littleForeign = 10e3
	// foreignWindow is the longest look at the network without the application.
	foreignWindow = time.Second
)

// ErrNotAlone is wrapped where others use the network interfaces so much that
// nobody can tell what an application exchanges.
var ErrNotAlone = errors.New("others use the network, too")

// MeasureCommunication runs an application alone and reads from the counters of
// this network namespace's interfaces, all but the loopback without a name, what
// it sends and receives. What others exchange before each run is taken away; it
// fails with ErrNotAlone where that is much. Size of messages and overlap are not
// told by counters and stay unknown.
func (s *Session) MeasureCommunication(ctx context.Context, a Application, interfaces []string) (*v1alpha1.Communication, error) {
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
func communicationOf(runs []exchanged) (*v1alpha1.Communication, error) {
	var sent, received, totals []float64
	var foreign float64
	for _, r := range runs {
		own := func(bytes, others float64) float64 { return max(bytes-others*r.seconds, 0) }
		s, in := own(r.sent, r.foreignSent), own(r.received, r.foreignReceived)
		sent, received = append(sent, s/r.seconds), append(received, in/r.seconds)
		totals = append(totals, s+in)
		foreign = max(foreign, r.foreignSent+r.foreignReceived)
	}
	c := &v1alpha1.Communication{
		Source: v1alpha1.CommunicationMeasured, Repeats: len(runs),
		SentBytesPerSecond: new(median(sent)), ReceivedBytesPerSecond: new(median(received)),
	}
	if foreign > max(littleForeign, mostForeign*(*c.SentBytesPerSecond+*c.ReceivedBytesPerSecond)) {
		return nil, fmt.Errorf("what the application exchanges: %w: %.3g bytes/s go through the interfaces without it; run it in a network namespace of its own, name its interface, or declare its rates", ErrNotAlone, foreign)
	}
	if sd, middle := spread(totals), median(totals); sd != nil && middle > 0 {
		c.RelativeSpread = new(*sd / middle)
	}
	return c, nil
}
