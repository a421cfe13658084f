package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"bandmate.dev/bandmate/load"
)

const (
	slice       = 200 * time.Millisecond
	settle      = 40 * time.Millisecond
	warmUp      = time.Second
	connections = 64
)

func seed() uint64 { return rand.Uint64() }

// order is that of a block of slices, ABBA or BAAB by chance.
func order(off, on *met) []*met {
	if rand.IntN(2) == 0 {
		return []*met{on, off, off, on}
	}
	return []*met{off, on, on, off}
}

// rates are those of a load in requests per second, while the neighbor is off and while it
// is on; 0 for a closed loop.
type rates struct{ off, on float64 }

// loader is a running load.
type loader interface {
	// take has a slice pass, in which the neighbor is on or off. What it met is in m when
	// the load has ended.
	take(ctx context.Context, m *met, on bool) error
	// end ends the load. It is called once.
	end() error
}

// startLoad starts the load of a service that lasts for so many slices. The rate of
// pgbench cannot change: it has that while the neighbor is on.
func (s service) startLoad(ctx context.Context, r rates, slices int) (loader, error) {
	if s.pgbench != "" {
		return startPgbench(ctx, s.pgbench, r.on, warmUp+time.Duration(slices)*slice)
	}
	return startBuiltIn(ctx, s.target, r), nil
}

// slices loads a service, and switches the neighbor off in every other slice.
func (e *evaluation) slices(ctx context.Context, s service, n *program, r rates) (off, on *met, err error) {
	const each = 4
	l, err := s.startLoad(ctx, r, each*e.blocks)
	if err != nil {
		return nil, nil, err
	}
	off, on = &met{}, &met{}
	err = e.alternate(ctx, l, n, off, on)
	if err = cmp.Or(ctx.Err(), errors.Join(err, l.end())); err != nil {
		return nil, nil, err
	}
	if !(off.rate() > 0) {
		return nil, nil, errors.New("no answers")
	}
	return off, on, nil
}

func (e *evaluation) alternate(ctx context.Context, l loader, n *program, off, on *met) error {
	sleep(ctx, warmUp)
	for range e.blocks {
		for _, m := range order(off, on) {
			if err := n.pause(m == off); err != nil {
				return err
			}
			if err := l.take(ctx, m, m == on); err != nil {
				return err
			}
		}
	}
	return nil
}

// builtIn is two loads of package load, of which one sends requests at a time; without
// rates it is one closed loop.
type builtIn struct{ off, on *load.Load }

func startBuiltIn(ctx context.Context, t *load.Target, r rates) builtIn {
	start := func(rate float64) *load.Load {
		return t.Start(ctx, load.Options{Rate: rate, Connections: connections, Seed: seed()})
	}
	l := builtIn{on: start(r.on)}
	l.off = l.on
	if r.on > 0 {
		l.off = start(r.off)
		l.off.Open(false)
	}
	return l
}

// take adds a slice. A load that the service does not keep up with counts: its latencies
// say so.
func (l builtIn) take(ctx context.Context, m *met, on bool) error {
	now := l.off
	if on {
		now = l.on
	}
	if l.off != l.on {
		l.off.Open(!on)
		l.on.Open(on)
	}
	sleep(ctx, settle)
	if _, err := now.Take(); err != nil && !errors.Is(err, load.ErrBehind) {
		return err
	}
	sleep(ctx, slice-settle)
	r, err := now.Take()
	if err != nil && !errors.Is(err, load.ErrBehind) {
		return err
	}
	m.rates = append(m.rates, r.Rate())
	m.add(r.Latency)
	return ctx.Err()
}

func (l builtIn) end() error {
	l.on.Close()
	l.off.Close()
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
