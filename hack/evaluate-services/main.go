// Command evaluate-services compares predictions of services with measurements: it runs
// each server and its load on some CPUs and each neighbor on others, switches the
// neighbor on and off in slices (ABBA), and compares rates and latencies with and
// without it. hack/evaluate-services.sh onboards real services and calls it.
//
//	evaluate-services -store DIR -service 'redis redis://127.0.0.1:7379/GET/key:{100000} redis-server --port 7379' \
//	  -pgbench 'postgres tcp://127.0.0.1:5432 pgbench --select-only bench -- postgres -D data' \
//	  -neighbor 'triad bandmate sample triad --scale 1000' \
//	  -neighbor-service 'nginx 2000 http://127.0.0.1:7380/ nginx -c /tmp/nginx.conf'
//
// The profiles of all are in the store. Server and load share CPUs, so that the latencies
// alone are measured here as well: p99 beside at a load λ is compared with s times that
// alone at s·λ, with the s that the profiles predict. Both are measured in turns, slice by
// slice, as p99 varies from minute to minute; those of pgbench one after the other.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// evaluation is what the flags say.
type evaluation struct {
	bandmate, store    string
	cpus, neighborCPUs string
	blocks             int
	services           []service
	neighbors          []neighbor
	out                io.Writer
}

// shares are the loads, as shares of the saturation beside the neighbor.
var shares = []float64{0.3, 0.5, 0.7}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate-services:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be undone
	}
}

func run(ctx context.Context) error {
	e := &evaluation{out: os.Stdout}
	pressing := ""
	flag.StringVar(&e.bandmate, "bandmate", "bandmate", "program that predicts")
	flag.StringVar(&e.store, "store", "", "folder of profiles")
	flag.StringVar(&e.cpus, "cpus", "0", "CPUs of server and load")
	flag.StringVar(&e.neighborCPUs, "neighbor-cpus", "1", "CPUs of the neighbor")
	flag.IntVar(&e.blocks, "blocks", 16, "blocks of four slices of 200 ms for each figure")
	flag.Func("service", "'NAME URL COMMAND', several times", func(s string) error {
		one, err := parseService(s)
		e.services = append(e.services, one)
		return err
	})
	flag.Func("pgbench", "'NAME tcp://HOST:PORT PGBENCH... -- COMMAND', as -service, loaded by pgbench", func(s string) error {
		one, err := parsePgbench(s)
		e.services = append(e.services, one)
		return err
	})
	flag.Func("neighbor", "'NAME COMMAND', several times", func(s string) error {
		name, command, ok := strings.Cut(s, " ")
		e.neighbors = append(e.neighbors, neighbor{name: name, command: command})
		return wantWords(ok)
	})
	flag.Func("neighbor-service", "'NAME REQUESTS-PER-SECOND URL COMMAND', several times; it is no neighbor of itself", func(s string) error {
		one, err := parsePressing(s)
		e.neighbors = append(e.neighbors, one)
		return err
	})
	flag.StringVar(&pressing, "press", "", "be the neighbor 'NAME REQUESTS-PER-SECOND URL COMMAND' (evaluate-services starts itself so)")
	flag.Parse()
	if pressing != "" {
		return press(ctx, e.out, pressing)
	}
	return e.run(ctx)
}

// prefer lets the load run before the server, as far as that is permitted: on the CPUs of
// the server it would otherwise wait for slices of the kernel, which are longer than most
// requests and do not stretch beside a neighbor.
func prefer() {
	const highest = -20
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, highest)
		}
	}
}

// run evaluates every service beside every neighbor. One that cannot be measured is
// skipped and named at the end.
func (e *evaluation) run(ctx context.Context) error {
	// Load runs on the CPUs of the server.
	if out, err := exec.CommandContext(ctx, "taskset", "-acp", e.cpus, fmt.Sprint(os.Getpid())).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	prefer()
	// While a neighbor is paused its CPUs spin, as those of an interferer do: an idle CPU
	// lets the clock of others rise.
	spinning, err := start(ctx, e.neighborCPUs, "chrt --idle 0 sh -c 'while :; do :; done'")
	if err != nil {
		return err
	}
	defer spinning.end()
	fmt.Fprintln(e.out, "| service | neighbor | load | s predicted | saturation beside ÷ alone: predicted | measured | p99 alone at s times the load | beside: predicted | measured |")
	fmt.Fprintln(e.out, "|---|---|---|---|---|---|---|---|---|")
	var cases []measured
	var faults []error
	for _, s := range e.services {
		for _, n := range e.neighbors {
			if n.name == s.name {
				continue
			}
			of, err := e.beside(ctx, s, n)
			cases = append(cases, of...)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("%s beside %s: %w", s.name, n.name, err))
			}
		}
	}
	fmt.Fprint(e.out, summary(cases))
	return errors.Join(faults...)
}

// beside evaluates a service beside a neighbor, and prints a line for each load.
func (e *evaluation) beside(ctx context.Context, s service, n neighbor) (cases []measured, err error) {
	server, err := start(ctx, e.cpus, s.command)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.target.AwaitReady(ready, func() error { return nil }); err != nil {
		return nil, err
	}
	sleep(ctx, warmUp) // PostgreSQL takes connections before it answers queries
	other, err := n.start(ctx, e.neighborCPUs)
	if err != nil {
		return nil, err
	}
	defer other.end()
	off, on, err := e.slices(ctx, s, other, rates{})
	if err != nil {
		return nil, err
	}
	saturation := off.rate()
	share := on.rate() / saturation
	for _, at := range shares {
		c := measured{saturation: share, share: at}
		rate := at * saturation * min(share, 1)
		if c.predicted, err = e.predict(ctx, s, n, rate); err != nil {
			return cases, err
		}
		stretched := c.slowdown * rate
		alone, beside, err := e.slices(ctx, s, other, rates{off: stretched, on: rate})
		if err == nil && s.pgbench != "" {
			alone, _, err = e.slices(ctx, s, other, rates{off: stretched, on: stretched})
		}
		if err != nil {
			return cases, err
		}
		c.alone, c.p99, c.p99Predicted = alone.p99(), beside.p99(), c.slowdown*alone.p99()
		fmt.Fprintf(e.out, "| %s | %s | %.0f%% | %.3f | %.3f | %.3f | %s | %s | %s |\n", s.name, n.name, 100*at, c.slowdown, c.saturationPredicted, c.saturation,
			milliseconds(c.alone), milliseconds(c.p99Predicted), milliseconds(c.p99))
		cases = append(cases, c)
	}
	return cases, nil
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }

// predicted is what bandmate says.
type predicted struct {
	slowdown float64
	// saturationPredicted is beside ÷ alone.
	saturationPredicted float64
	// low and high are the ends of the interval of p99 ÷ p99; 0 without one.
	low, high float64
}

func (e *evaluation) predict(ctx context.Context, s service, n neighbor, rate float64) (predicted, error) {
	args := []string{"predict", s.name, n.name, "--store", e.store, "--load", fmt.Sprint(rate), "-o", "json"}
	if n.target != nil {
		args = append(args, "--load", fmt.Sprintf("%s=%g", n.name, n.rate))
	}
	out, err := exec.CommandContext(ctx, e.bandmate, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return predicted{}, fmt.Errorf("predicting: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return predicted{}, err
	}
	var said struct {
		Slowdown float64 `json:"slowdown"`
		Service  struct {
			Alone    float64 `json:"saturationAlone"`
			Beside   float64 `json:"saturationBeside"`
			P99      float64 `json:"p99BesideSeconds"`
			Interval struct {
				Low  float64 `json:"low"`
				High float64 `json:"high"`
			} `json:"p99Interval"`
		} `json:"service"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return predicted{}, err
	}
	p := predicted{slowdown: said.Slowdown, saturationPredicted: said.Service.Beside / said.Service.Alone}
	if v := said.Service; v.Interval.High > 0 {
		p.low, p.high = v.Interval.Low/v.P99, v.Interval.High/v.P99
	}
	return p, nil
}
