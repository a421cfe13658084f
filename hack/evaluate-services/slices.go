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

// loader is a running load.
type loader interface {
	// take has a slice pass. What it met is in m when the load has ended.
	take(ctx context.Context, m *met) error
	// end ends the load. It is called once.
	end() error
}

// startLoad starts the load of a service at a rate, 0 for a closed loop, that lasts for so
// many slices.
func (s service) startLoad(ctx context.Context, rate float64, slices int) (loader, error) {
	if s.pgbench != "" {
		return startPgbench(ctx, s.pgbench, rate, warmUp+time.Duration(slices)*slice)
	}
	return builtIn{s.target.Start(ctx, load.Options{Rate: rate, Connections: connections, Seed: seed()})}, nil
}

// slices loads a service at a rate, 0 for a closed loop, and switches the neighbor off in
// every other slice.
func (e *evaluation) slices(ctx context.Context, s service, n *program, rate float64) (off, on *met, err error) {
	const each = 4
	l, err := s.startLoad(ctx, rate, each*e.blocks)
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
			if err := l.take(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// builtIn is a load of package load.
type builtIn struct{ *load.Load }

// take adds a slice. A load that the service does not keep up with counts: its latencies
// say so.
func (l builtIn) take(ctx context.Context, m *met) error {
	sleep(ctx, settle)
	if _, err := l.Take(); err != nil && !errors.Is(err, load.ErrBehind) {
		return err
	}
	sleep(ctx, slice-settle)
	r, err := l.Take()
	if err != nil && !errors.Is(err, load.ErrBehind) {
		return err
	}
	m.rates = append(m.rates, r.Rate())
	m.add(r.Latency)
	return ctx.Err()
}

func (l builtIn) end() error {
	l.Close()
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
