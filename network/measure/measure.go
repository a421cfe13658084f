// Package measure runs real conflicts of communications, on a cluster of network
// namespaces with limited links (package namespaces), and measures their penalties as
// Vienne et al. 2008 do (section IV.B): all communications of a conflict send the same
// amount at once. The penalty is the time of each, from its start until the receiver
// has all of it, ÷ the time of one alone.
package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/network/namespaces"
	"bandmate.dev/bandmate/units"
)

// Scheme is a conflict to measure.
type Scheme struct {
	Name     string
	Conflict []network.Communication
}

// Options are the options of Run.
type Options struct {
	// Schemes are the conflicts; names and communications as
	// network.Validate wants them, nodes from 0 to namespaces.MaxNodes−1.
	Schemes []Scheme
	// Rate is what each network card carries in each direction.
	Rate units.Bandwidth
	// Bytes is what each communication sends: MinBytes to MaxBytes.
	Bytes int64
	// Repeats are the rounds, at least 1; each measures every scheme and the
	// time alone, in a new order.
	Repeats int
	// CongestionControl names that of TCP, as cubic; empty for this machine's.
	CongestionControl string
	// Seed orders the schemes.
	Seed uint64
	// Progress is called before each measurement; may be nil.
	Progress func(done, total int, next string)
}

// Bounds of Options.
const (
	// MinBytes is several times the burst of a card.
	MinBytes int64 = 1 << 20
	MaxBytes int64 = 1 << 30
	// maxRepeats bounds the rounds.
	maxRepeats = 1000
)

// Validate reports every option that is out of range.
func (o Options) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(len(o.Schemes) > 0, "no conflicts: want one or more")
	names := make(map[string]bool)
	for _, s := range o.Schemes {
		check(s.Name != "" && !names[s.Name], "conflict %q: want a name of its own", s.Name)
		names[s.Name] = true
		if err := network.Validate(s.Conflict); err != nil {
			faults = append(faults, fmt.Errorf("conflict %q: %w", s.Name, err))
		}
	}
	if err := (namespaces.Options{Nodes: o.nodes(), Rate: o.Rate}).Validate(); err != nil {
		faults = append(faults, err)
	}
	check(o.Rate > 0, "rate of %s: want what a network card carries", o.Rate)
	check(o.Bytes >= MinBytes && o.Bytes <= MaxBytes, "%d bytes a communication: want %d to %d", o.Bytes, MinBytes, MaxBytes)
	check(o.Repeats >= 1 && o.Repeats <= maxRepeats, "repeats: %d: want 1 to %d", o.Repeats, maxRepeats)
	return errors.Join(faults...)
}

// nodes returns the number of nodes that the schemes need.
func (o Options) nodes() int {
	last := 1
	for _, s := range o.Schemes {
		for _, c := range s.Conflict {
			last = max(last, c.From, c.To)
		}
	}
	return last + 1
}

// Result is the measurement of all schemes.
type Result struct {
	// Conflicts are the schemes with the medians of the penalties, in the order
	// of Options.
	Conflicts []network.Measured
	// Spreads are the standard deviations over the rounds ÷ the medians, one a
	// communication; NaN for a single round.
	Spreads [][]float64
	// AloneSeconds is the median time of one communication without any other,
	// and AloneSpread its relative standard deviation.
	AloneSeconds, AloneSpread float64
	// Alone is the bandwidth of that.
	Alone units.Bandwidth
	// Warnings say which results may be doubted.
	Warnings []string
}

// transport carries communications; tests use a fake one.
type transport interface {
	// run has all communications of a conflict send at once and returns the
	// seconds of each.
	run(ctx context.Context, conflict []network.Communication) ([]float64, error)
}

// Run measures, and leaves nothing running. It fails when ctx ends, and with
// namespaces.ErrNotPermitted where network namespaces cannot be had.
func Run(ctx context.Context, o Options) (r Result, err error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	cluster, err := namespaces.Open(ctx, namespaces.Options{Nodes: o.nodes(), Rate: o.Rate})
	if err != nil {
		return Result{}, err
	}
	defer func() {
		err = errors.Join(err, cluster.Close())
		if ctx.Err() != nil { // what failed then did so because of it
			err = context.Cause(ctx)
		}
	}()
	w := &wires{cluster: cluster, bytes: o.Bytes, control: o.CongestionControl, open: make(map[[2]int][]*wire)}
	defer func() { err = errors.Join(err, w.close()) }()
	return measure(ctx, o, w)
}

// reference is the communication whose time alone is the unit of penalties.
func reference() []network.Communication {
	return []network.Communication{{Name: "alone", From: 0, To: 1}}
}

// apart are two communications that share no card: their penalty is 1 unless
// this machine cannot carry both.
func apart() []network.Communication {
	return []network.Communication{{Name: "a", From: 0, To: 1}, {Name: "b", From: 1, To: 0}}
}

// measure takes the rounds. The first round opens the windows of all connections
// and does not count.
func measure(ctx context.Context, o Options, t transport) (Result, error) {
	var (
		alone, both []float64
		seconds     = make([][][]float64, len(o.Schemes)) // by scheme, communication and round
		order       = make([]int, len(o.Schemes))
		draw        = rand.New(rand.NewPCG(o.Seed, 0))
		done        = 0
		total       = (o.Repeats + 1) * (len(o.Schemes) + 2)
	)
	for i, s := range o.Schemes {
		seconds[i] = make([][]float64, len(s.Conflict))
		order[i] = i
	}
	run := func(name string, conflict []network.Communication) ([]float64, error) {
		if o.Progress != nil {
			o.Progress(done, total, name)
		}
		done++
		times, err := t.run(ctx, conflict)
		if err != nil {
			return nil, fmt.Errorf("conflict %q: %w", name, err)
		}
		return times, nil
	}
	for round := range o.Repeats + 1 {
		draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		times, err := run("alone", reference())
		if err != nil {
			return Result{}, err
		}
		pair, err := run("apart", apart())
		if err != nil {
			return Result{}, err
		}
		if round > 0 {
			alone, both = append(alone, times[0]), append(both, pair...)
		}
		for _, i := range order {
			times, err := run(o.Schemes[i].Name, o.Schemes[i].Conflict)
			if err != nil {
				return Result{}, err
			}
			for j, s := range times {
				if round > 0 {
					seconds[i][j] = append(seconds[i][j], s)
				}
			}
		}
	}
	return summarize(o, alone, both, seconds), nil
}

// Bounds of plausible results; others get a warning.
const (
	// slow is the least share of the rate that one communication reaches.
	slow = 0.85
	// mostApart is the highest penalty of communications that share no card.
	mostApart = 1.1
)

func summarize(o Options, alone, both []float64, seconds [][][]float64) Result {
	var r Result
	r.AloneSeconds, r.AloneSpread = stats.MedianAndSpread(alone)
	r.Alone = units.Bandwidth(float64(o.Bytes) / r.AloneSeconds)
	for i, s := range o.Schemes {
		m := network.Measured{Name: s.Name, Conflict: s.Conflict}
		var spreads []float64
		for _, times := range seconds[i] {
			middle, spread := stats.MedianAndSpread(times)
			m.Penalties = append(m.Penalties, middle/r.AloneSeconds)
			spreads = append(spreads, spread)
		}
		r.Conflicts, r.Spreads = append(r.Conflicts, m), append(r.Spreads, spreads)
	}
	if r.Alone < slow*o.Rate {
		r.Warnings = append(r.Warnings, fmt.Sprintf("one communication reaches %s of %s: more bytes or another congestion control may fill the link", r.Alone, o.Rate))
	}
	if middle, _ := stats.MedianAndSpread(both); middle/r.AloneSeconds > mostApart {
		r.Warnings = append(r.Warnings, fmt.Sprintf("two communications that share no card have a penalty of %.2f: this machine cannot carry so much, ask for a lower rate", middle/r.AloneSeconds))
	}
	return r
}
