package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/samples"
)

// sampleMain runs a built-in sample once, as bandmate sample does.
func sampleMain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("sample: want one name")
	}
	sample, err := samples.ByName(args[0])
	if err != nil {
		return err
	}
	_, err = sample.Run(ctx, 1)
	return err
}

// exchange is an application of equal steps: each sends a message, waits until
// all of it has arrived, and computes, before it or meanwhile.
type exchange struct {
	namespace  string
	steps      int
	message    int
	compute    int // bytes of a triad
	overlapped bool
}

func (x exchange) args() []string {
	return []string{
		partExchange, "--namespace", x.namespace, "--steps", strconv.Itoa(x.steps), "--message", strconv.Itoa(x.message),
		"--compute", strconv.Itoa(x.compute), "--overlapped=" + strconv.FormatBool(x.overlapped),
	}
}

func exchangeMain(_ context.Context, args []string) error {
	var x exchange
	flags := flag.NewFlagSet(partExchange, flag.ContinueOnError)
	flags.StringVar(&x.namespace, "namespace", "", "network namespace of the receiver")
	flags.IntVar(&x.steps, "steps", 1, "steps")
	flags.IntVar(&x.message, "message", 1<<20, "bytes of a message")
	flags.IntVar(&x.compute, "compute", 0, "bytes that a step reads and writes")
	flags.BoolVar(&x.overlapped, "overlapped", false, "compute while the message is on its way")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return x.run()
}

func (x exchange) run() error {
	// Threads that the kernel shares the CPU among: computing must not keep the
	// sender waiting.
	runtime.GOMAXPROCS(4)
	listener, err := listenFar(x.namespace)
	if err != nil {
		return fmt.Errorf("the receiver: %w", err)
	}
	defer func() { _ = listener.Close() }()
	received := make(chan error, 1)
	go func() { received <- x.receive(listener) }()
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return fmt.Errorf("the sender: %w", err)
	}
	defer func() { _ = c.Close() }()
	message := make([]byte, x.message)
	for i := range message {
		message[i] = byte(i * 167)
	}
	var work *triad
	if x.compute > 0 {
		work = newTriad()
	}
	send := func() error {
		if _, err := c.Write(message); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	sent := make(chan error, 1)
	for range x.steps {
		if x.overlapped {
			go func() { sent <- send() }()
			work.run(x.compute)
			err = <-sent
		} else {
			work.run(x.compute)
			err = send()
		}
		if err != nil {
			return fmt.Errorf("sending: %w", err)
		}
	}
	if err := c.Close(); err != nil {
		return err
	}
	return <-received
}

// listenFar opens a socket in a network namespace. Its thread has left the namespace
// of this process and ends with the goroutine.
func listenFar(namespace string) (listener net.Listener, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		file, fault := os.Open(namespace)
		if err = fault; err != nil {
			return
		}
		defer file.Close()
		if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("entering %s: %w", namespace, err)
			return
		}
		listener, err = net.Listen("tcp", farAddress+":0")
	}()
	<-done
	return listener, err
}

// farAddress is the receiver's, as hack/evaluate-communication.sh sets it.
const farAddress = "10.77.0.2"

// receive drops every message in the kernel, as a card that writes to memory
// spares the CPU the copy, and acknowledges it.
func (x exchange) receive(listener net.Listener) error {
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	connection, ok := c.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("accepted a %T: want a TCP connection", c)
	}
	raw, err := connection.SyscallConn()
	if err != nil {
		return err
	}
	buffer := make([]byte, 256<<10)
	for range x.steps {
		for left := x.message; left > 0; {
			var n int
			var failed error
			err := raw.Read(func(fd uintptr) bool {
				n, _, failed = syscall.Recvfrom(int(fd), buffer[:min(left, len(buffer))], syscall.MSG_TRUNC|syscall.MSG_DONTWAIT)
				return !errors.Is(failed, syscall.EAGAIN)
			})
			if err := errors.Join(err, failed); err != nil {
				return fmt.Errorf("receiving: %w", err)
			}
			if n == 0 {
				return io.ErrUnexpectedEOF
			}
			left -= n
		}
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
	}
	return nil
}

// triad is a[i] = b[i] + s·c[i] over arrays that no cache holds.
type triad struct {
	a, b, c []float64
	at      int
}

const triadElements = 5 << 20

func newTriad() *triad {
	t := &triad{a: make([]float64, triadElements), b: make([]float64, triadElements), c: make([]float64, triadElements)}
	for i := range t.a {
		t.a[i], t.b[i], t.c[i] = 1, float64(i), 2
	}
	return t
}

// run goes on by so many bytes, of which each element has 24.
func (t *triad) run(bytes int) {
	if t == nil {
		return
	}
	for elements := bytes / 24; elements > 0; {
		n := min(elements, triadElements-t.at)
		a, b, c := t.a[t.at:t.at+n], t.b[t.at:t.at+n], t.c[t.at:t.at+n]
		for i := range a {
			a[i] = b[i] + 3*c[i]
		}
		t.at = (t.at + n) % triadElements
		elements -= n
	}
}
