package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// pgbench is the load of PostgreSQL, whose log tells when each transaction ended and how
// long it took, from its intended start where there is a rate.
type pgbench struct {
	cmd    *exec.Cmd
	said   bytes.Buffer
	folder string
	slices []span
}

// span is the time of a slice.
type span struct {
	from, to time.Time
	of       *met
}

// startPgbench starts a command of words for longer than d, at a rate, 0 for a closed loop.
// It runs where this process does, and at its priority.
func startPgbench(ctx context.Context, command string, rate float64, d time.Duration) (*pgbench, error) {
	folder, err := os.MkdirTemp("", "evaluate-services-")
	if err != nil {
		return nil, err
	}
	// Slices take longer than they should where CPUs are busy. Only a pgbench that ends by
	// itself writes the whole log.
	const longer = 1.25
	args := append(strings.Fields(command), "--log", "--log-prefix="+filepath.Join(folder, "log"), fmt.Sprintf("--time=%.0f", 1+longer*d.Seconds()))
	if rate > 0 {
		args = append(args, fmt.Sprintf("--rate=%g", rate))
	}
	p := &pgbench{cmd: exec.CommandContext(ctx, args[0], args[1:]...), folder: folder}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = &p.said
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return p, nil
}

func (p *pgbench) take(ctx context.Context, m *met, _ bool) error {
	sleep(ctx, settle)
	from := time.Now()
	sleep(ctx, slice-settle)
	p.slices = append(p.slices, span{from, time.Now(), m})
	return ctx.Err()
}

// end waits for pgbench, and gives each slice what it met.
func (p *pgbench) end() (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(p.folder)) }()
	err = p.cmd.Wait()
	if ended := time.Now(); err == nil && len(p.slices) > 0 && ended.Before(p.slices[len(p.slices)-1].to) {
		err = errors.New("it ended before the last slice")
	}
	if err != nil {
		return fmt.Errorf("pgbench: %w: %s", err, bytes.TrimSpace(p.said.Bytes()))
	}
	logs, err := filepath.Glob(filepath.Join(p.folder, "log.*"))
	if err != nil {
		return err
	}
	var all []transaction
	for _, name := range logs {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		some, err := parseTransactions(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("log of pgbench: %w", err)
		}
		all = append(all, some...)
	}
	for _, s := range p.slices {
		s.count(all)
	}
	return nil
}

// count adds the transactions that ended within the slice.
func (s span) count(all []transaction) {
	const digits = 3
	latency := hdrhistogram.New(int64(time.Microsecond), int64(time.Hour), digits)
	for _, t := range all {
		if t.end.After(s.from) && !t.end.After(s.to) {
			_ = latency.RecordValue(max(t.took.Nanoseconds(), int64(time.Microsecond))) // an hour is longer than any
		}
	}
	s.of.rates = append(s.of.rates, float64(latency.TotalCount())/s.to.Sub(s.from).Seconds())
	s.of.add(latency)
}

// transaction is a line of the log.
type transaction struct {
	end  time.Time
	took time.Duration
}

// parseTransactions reads a log (pgbench(1), "Per-Transaction Logging"): client,
// transaction, microseconds, script, seconds and microseconds of the end, and, with a rate,
// the delay of the start.
//
//	0 199 2241 0 1175850568 995598
func parseTransactions(log io.Reader) ([]transaction, error) {
	var all []transaction
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var client, number, took, script, seconds, micros int64
		if _, err := fmt.Sscan(lines.Text(), &client, &number, &took, &script, &seconds, &micros); err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		all = append(all, transaction{time.Unix(seconds, micros*int64(time.Microsecond)), time.Duration(took) * time.Microsecond})
	}
	return all, lines.Err()
}
