package main

import (
	"bufio"
	"context"
	"errors"
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

	"bandmate.dev/bandmate/load"
)

// service is a server and the request to it.
type service struct {
	name, command string
	target        *load.Target
	// pgbench is the command that loads the service; empty where requests to target do.
	pgbench string
}

// parsePgbench reads 'NAME tcp://HOST:PORT PGBENCH... -- COMMAND': the server is ready when
// it takes connections, and pgbench loads it.
func parsePgbench(text string) (service, error) {
	before, command, ok := strings.Cut(text, " -- ")
	if !ok {
		return service{}, errors.New("no -- before the command of the server")
	}
	s, err := parseService(before)
	s.pgbench, s.command = s.command, command
	return s, err
}

func parseService(text string) (service, error) {
	const words = 3
	w := strings.SplitN(text, " ", words)
	if len(w) != words {
		return service{}, wantWords(false)
	}
	target, err := load.Parse(w[1])
	return service{name: w[0], command: w[2], target: target}, err
}

// neighbor is a program, or, with a target, a service under load.
type neighbor struct {
	name, command string
	target        *load.Target
	// rate is in requests per second.
	rate float64
	// text is what the neighbor was read from.
	text string
}

func parsePressing(text string) (neighbor, error) {
	name, rest, _ := strings.Cut(text, " ")
	number, rest, _ := strings.Cut(rest, " ")
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return neighbor{}, err
	}
	s, err := parseService(name + " " + rest)
	return neighbor{name: name, command: s.command, target: s.target, rate: rate, text: text}, err
}

func wantWords(ok bool) error {
	if !ok {
		return errors.New("too few words")
	}
	return nil
}

// program is a command on its own CPUs.
type program struct {
	cmd *exec.Cmd
	// pressing says that the program is this one, with -press.
	pressing bool
	ended    chan struct{}
}

func start(ctx context.Context, cpus, command string) (*program, error) {
	p := &program{cmd: confined(ctx, cpus, "sh", "-c", "exec "+command)}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.await()
	return p, nil
}

// await notices the end of the program.
func (p *program) await() {
	p.ended = make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // it says why itself
		close(p.ended)
	}()
}

// confined is a command in a process group of its own, which ends with this process and
// has the usual priority.
func confined(ctx context.Context, cpus string, args ...string) *exec.Cmd {
	const usual = 20 // Getpriority returns 20 - nice
	lower := 0
	if priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		lower = priority - usual
	}
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", cpus, "nice", "-n", strconv.Itoa(lower)}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	return cmd
}

// start starts the neighbor, and waits until it works.
func (n neighbor) start(ctx context.Context, cpus string) (*program, error) {
	if n.target == nil {
		return start(ctx, cpus, n.command)
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := confined(ctx, cpus, own, "-press", n.text)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd: cmd, pressing: true}
	_, err = bufio.NewReader(out).ReadString('\n')
	p.await()
	if err != nil {
		p.end()
		return nil, fmt.Errorf("%s is not ready: %w", n.name, err)
	}
	return p, nil
}

// pause switches the program off, or on again. A service stays without requests: those
// that had come meanwhile would press the more afterwards.
func (p *program) pause(paused bool) error {
	select {
	case <-p.ended:
		return errors.New("the neighbor ended")
	default:
	}
	switch {
	case p.pressing && paused:
		return p.cmd.Process.Signal(syscall.SIGUSR1)
	case p.pressing:
		return p.cmd.Process.Signal(syscall.SIGUSR2)
	case paused:
		return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGSTOP)
	}
	return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGCONT)
}

// end ends the program; what its end says does not matter.
func (p *program) end() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// stop has a server end by itself, as PostgreSQL must so that it can be started again.
func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	const patience = 10 * time.Second
	select {
	case <-p.ended:
	case <-time.After(patience):
	}
	p.end()
}

// press runs a server and its load until it is killed, and prints a line when it does.
// SIGUSR1 stops the requests, SIGUSR2 has them go on.
func press(ctx context.Context, out io.Writer, text string) error {
	n, err := parsePressing(text)
	if err != nil {
		return err
	}
	server := exec.CommandContext(ctx, "sh", "-c", "exec "+n.command)
	server.Stdout, server.Stderr = io.Discard, os.Stderr
	if err := server.Start(); err != nil {
		return err
	}
	if err := n.target.AwaitReady(ctx, func() error { return nil }); err != nil {
		return err
	}
	const waiting = 8
	signals := make(chan os.Signal, waiting)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	l := n.target.Start(ctx, load.Options{Rate: n.rate, Connections: connections, Seed: seed()})
	defer l.Close()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-signals:
			l.Open(s == syscall.SIGUSR2)
		case <-time.After(time.Second):
			if err := l.Err(); err != nil {
				return err
			}
		}
	}
}
