// Command evaluate-services holds predictions of a service against what happens: it runs
// the server and its load on some CPUs and each neighbor on others, pauses the neighbor
// in slices (ABBA), and compares rates and latencies with and without it.
//
//	evaluate-services -store DIR -service redis -url redis://127.0.0.1:7379/GET/key:{100000} \
//	  -server 'redis-server --port 7379 --save ""' -neighbor 'triad=bandmate sample triad --scale 1e6' ...
//
// The profile of the service and those of the neighbors are in the store. Server and load
// share CPUs, so that the latencies alone are measured here as well: p99 beside at a load
// λ is compared with s times that alone at s·λ, with the s that the profiles predict.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/load"
)

// evaluation is what the flags say.
type evaluation struct {
	bandmate, store, service, url, server string
	cpus, neighborCPUs                    string
	blocks                                int
	neighbors                             []string
	target                                *load.Target
	out                                   io.Writer
}

const (
	slice  = 200 * time.Millisecond
	settle = 40 * time.Millisecond
)

// shares are the loads, as shares of the saturation beside the neighbor.
var shares = []float64{0.3, 0.5, 0.7}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := &evaluation{out: os.Stdout}
	flag.StringVar(&e.bandmate, "bandmate", "bandmate", "program that predicts")
	flag.StringVar(&e.store, "store", "", "folder of profiles")
	flag.StringVar(&e.service, "service", "", "profile of the service")
	flag.StringVar(&e.url, "url", "", "request")
	flag.StringVar(&e.server, "server", "", "command that starts the server")
	flag.StringVar(&e.cpus, "cpus", "0", "CPUs of server and load")
	flag.StringVar(&e.neighborCPUs, "neighbor-cpus", "1", "CPUs of the neighbor")
	flag.IntVar(&e.blocks, "blocks", 20, "blocks of four slices for each figure")
	flag.Func("neighbor", "NAME=COMMAND, several times", func(s string) error { e.neighbors = append(e.neighbors, s); return nil })
	flag.Parse()
	if err := e.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to be undone
	}
}

func (e *evaluation) run(ctx context.Context) (err error) {
	if e.target, err = load.Parse(e.url); err != nil {
		return err
	}
	// Load runs on the CPUs of the server.
	if out, err := exec.CommandContext(ctx, "taskset", "-acp", e.cpus, fmt.Sprint(os.Getpid())).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	server, err := start(ctx, e.cpus, e.server)
	if err != nil {
		return err
	}
	defer server.end()
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := e.target.AwaitReady(ready, func() error { return nil }); err != nil {
		return err
	}
	fmt.Fprintln(e.out, "| service | neighbor | load | s predicted | saturation predicted | measured | p99 alone | predicted | measured |")
	fmt.Fprintln(e.out, "|---|---|---|---|---|---|---|---|---|")
	for _, n := range e.neighbors {
		name, command, _ := strings.Cut(n, "=")
		if err := e.beside(ctx, name, command); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// beside evaluates one neighbor.
func (e *evaluation) beside(ctx context.Context, name, command string) error {
	neighbor, err := start(ctx, e.neighborCPUs, command)
	if err != nil {
		return err
	}
	defer neighbor.end()
	off, on, err := e.slices(ctx, neighbor, 0)
	if err != nil {
		return err
	}
	saturation := off.rate()
	measured := on.rate() / saturation
	for _, share := range shares {
		rate := share * saturation * min(measured, 1)
		s, predictedShare, err := e.predict(ctx, name, rate)
		if err != nil {
			return err
		}
		alone, beside, err := e.slices(ctx, neighbor, rate)
		if err != nil {
			return err
		}
		stretched, _, err := e.slices(ctx, neighbor, s*rate)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "| %s | %s | %.0f%% | %.3f | %.3f | %.3f | %s | %s | %s |\n", e.service, name, 100*share, s, predictedShare, measured,
			milliseconds(alone.p99()), milliseconds(s*stretched.p99()), milliseconds(beside.p99()))
	}
	return nil
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }

// predict returns s and the saturation beside ÷ alone that bandmate predicts.
func (e *evaluation) predict(ctx context.Context, neighbor string, rate float64) (s, saturation float64, err error) {
	out, err := exec.CommandContext(ctx, e.bandmate, "predict", e.service, neighbor, "--store", e.store, "--load", fmt.Sprint(rate), "-o", "json").Output()
	if err != nil {
		return 0, 0, fmt.Errorf("predicting: %w", err)
	}
	var p struct {
		Slowdown float64 `json:"slowdown"`
		Service  struct {
			Alone  float64 `json:"saturationAlone"`
			Beside float64 `json:"saturationBeside"`
		} `json:"service"`
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return 0, 0, err
	}
	return p.Slowdown, p.Service.Beside / p.Service.Alone, nil
}

// met is what slices of one kind met.
type met struct {
	rates   []float64
	latency *hdrhistogram.Histogram
}

func (m *met) rate() float64 { return stats.Median(m.rates) }
func (m *met) p99() float64 {
	return time.Duration(m.latency.ValueAtQuantile(99)).Seconds()
}

// slices loads the service at a rate, 0 for a closed loop, and pauses the neighbor in
// every other slice.
func (e *evaluation) slices(ctx context.Context, neighbor *program, rate float64) (off, on *met, err error) {
	l := e.target.Start(ctx, load.Options{Rate: rate, Connections: 64, Seed: rand.Uint64()})
	defer l.Close()
	sleep(ctx, time.Second)
	off, on = &met{}, &met{}
	for range e.blocks {
		order := []*met{off, on, on, off}
		if rand.IntN(2) == 0 {
			order = []*met{on, off, off, on}
		}
		for _, m := range order {
			if err := neighbor.pause(m == off); err != nil {
				return nil, nil, err
			}
			sleep(ctx, settle)
			if _, err := l.Take(); err != nil && !errors.Is(err, load.ErrBehind) {
				return nil, nil, err
			}
			sleep(ctx, slice-settle)
			r, err := l.Take()
			if err != nil && !errors.Is(err, load.ErrBehind) || ctx.Err() != nil {
				return nil, nil, cmp.Or(ctx.Err(), err)
			}
			m.rates = append(m.rates, r.Rate())
			if m.latency == nil {
				m.latency = r.Latency
			} else {
				m.latency.Merge(r.Latency)
			}
		}
	}
	if math.IsNaN(off.rate()) || off.rate() <= 0 {
		return nil, nil, errors.New("no answers")
	}
	return off, on, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// program is a command on its own CPUs.
type program struct{ cmd *exec.Cmd }

func start(ctx context.Context, cpus, command string) (*program, error) {
	cmd := exec.CommandContext(ctx, "taskset", "-c", cpus, "sh", "-c", "exec "+command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &program{cmd}, nil
}

func (p *program) pause(paused bool) error {
	s := syscall.SIGCONT
	if paused {
		s = syscall.SIGSTOP
	}
	return syscall.Kill(-p.cmd.Process.Pid, s)
}

// end ends the program; what its end says does not matter.
func (p *program) end() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}
