package onboard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/onboard/bench"
)

// communicationRuns is how often an application runs to count what it exchanges.
const communicationRuns = 3

const (
	// maxBackgroundShare bounds the share of a run's bytes that others cause. They
	// are subtracted, but they may differ during the run.
	maxBackgroundShare = 0.05
	// minBackground, in bytes per second, is what every network has: neighbor
	// discovery, keepalives.
	minBackground = 10e3
	// backgroundWindow is how long the network is watched before each run.
	backgroundWindow = time.Second
)

// ErrNotAlone is wrapped where others use the network interfaces so much that
// the application's part cannot be told.
var ErrNotAlone = errors.New("others use the network, too")

// Exchanged is what an application sent and received in a run, in bytes.
type Exchanged struct {
	// Sent and Received are medians over the runs.
	Sent, Received float64
	// Repeats is the number of runs, RelativeSpread the standard deviation of
	// their totals ÷ the median; nil with fewer than two runs, or without
	// traffic.
	Repeats        int
	RelativeSpread *float64
}

// Communication returns the exchange as rates over the solo time of a profile:
// the bytes of a run hardly vary, its time may. Counters tell neither the size of
// messages nor overlap, which stay unknown.
func (e Exchanged) Communication(solo v1alpha1.Timing) *v1alpha1.Communication {
	return &v1alpha1.Communication{
		Source:             v1alpha1.CommunicationMeasured,
		SentBytesPerSecond: new(e.Sent / solo.Seconds), ReceivedBytesPerSecond: new(e.Received / solo.Seconds),
		Repeats: e.Repeats, RelativeSpread: e.RelativeSpread,
	}
}

// MeasureCommunication runs an application alone and reads what it sends and
// receives from the counters of the named interfaces of this network namespace;
// without names, of all but the loopback. It subtracts what others exchange just
// before each run, and fails with ErrNotAlone where that is much.
func MeasureCommunication(ctx context.Context, s *bench.Session, a Application, interfaces []string) (*Exchanged, error) {
	var runs []exchangedRun
	for range communicationRuns {
		before, err := readCounters(interfaces)
		if err != nil {
			return nil, err
		}
		bench.Pause(ctx, backgroundWindow)
		start, err := readCounters(interfaces)
		if err != nil {
			return nil, err
		}
		observation, err := runSolo(ctx, s, a)
		if err != nil {
			return nil, err
		}
		end, err := readCounters(interfaces)
		if err != nil {
			return nil, err
		}
		runs = append(runs, exchangedRun{
			seconds: observation.Wall.Seconds(), bytes: end.since(start),
			background: start.since(before),
		})
	}
	return summarizeRuns(runs)
}

// netCounters are bytes that network interfaces sent and received.
type netCounters struct{ sent, received float64 }

// readCounters adds the counters of the named interfaces, as of
// /proc/self/net/dev; without names, of all but the loopback.
func readCounters(names []string) (netCounters, error) {
	proc, err := procfs.Self()
	if err != nil {
		return netCounters{}, fmt.Errorf("counters of the network interfaces: %w", err)
	}
	all, err := proc.NetDev()
	if err != nil {
		return netCounters{}, fmt.Errorf("counters of the network interfaces: %w", err)
	}
	return sumCounters(all, names)
}

func sumCounters(all procfs.NetDev, names []string) (sum netCounters, err error) {
	if len(names) == 0 {
		for name := range all {
			if name != "lo" && !isStacked(name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		c, ok := all[name]
		if !ok {
			return netCounters{}, fmt.Errorf("no network interface %s here: see ip link", name)
		}
		sum.sent += float64(c.TxBytes)
		sum.received += float64(c.RxBytes)
	}
	return sum, nil
}

// isStacked reports whether an interface, such as a bond, a bridge or a VLAN, counts what the
// interfaces below it count as well.
func isStacked(name string) bool {
	below, err := filepath.Glob("/sys/class/net/" + name + "/lower_*")
	return err == nil && len(below) > 0
}

// since returns the increase of counters. A counter that fell was reset.
func (c netCounters) since(start netCounters) netCounters {
	rise := func(from, to float64) float64 {
		if to < from {
			return to
		}
		return to - from
	}
	return netCounters{rise(start.sent, c.sent), rise(start.received, c.received)}
}

// exchangedRun is the bytes that went through the interfaces during a run, and in
// the backgroundWindow before it.
type exchangedRun struct {
	seconds           float64
	bytes, background netCounters
}

// summarizeRuns subtracts the background from the runs and takes their medians.
func summarizeRuns(runs []exchangedRun) (*Exchanged, error) {
	var sent, received, totals, rates []float64
	var background float64
	for _, r := range runs {
		windows := r.seconds / backgroundWindow.Seconds()
		out := max(r.bytes.sent-r.background.sent*windows, 0)
		in := max(r.bytes.received-r.background.received*windows, 0)
		sent, received, totals = append(sent, out), append(received, in), append(totals, out+in)
		rates = append(rates, (out+in)/r.seconds)
		background = max(background, (r.background.sent+r.background.received)/backgroundWindow.Seconds())
	}
	if background > max(minBackground, maxBackgroundShare*stats.Median(rates)) {
		return nil, fmt.Errorf("what the application exchanges: %w: %.3g bytes/s go through the interfaces without it; run it in a network namespace of its own, name its interface, or declare its rates", ErrNotAlone, background)
	}
	e := &Exchanged{Sent: stats.Median(sent), Received: stats.Median(received), Repeats: len(runs)}
	if sd, middle := stats.Spread(totals), stats.Median(totals); sd != nil && middle > 0 {
		e.RelativeSpread = new(*sd / middle)
	}
	return e, nil
}
