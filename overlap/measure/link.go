package measure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/topology"
)

// Connect makes a TCP connection and returns its ends, which the caller closes.
type Connect func(ctx context.Context) (sender, receiver *os.File, err error)

// Loopback connects over the loopback device.
func Loopback(ctx context.Context) (sender, receiver *os.File, err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listening on the loopback device: %w", err)
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	var dialer net.Dialer
	out, err := dialer.DialContext(ctx, "tcp4", listener.Addr().String())
	if err != nil {
		return nil, nil, fmt.Errorf("connecting over the loopback device: is it up? %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	in, err := listener.Accept()
	if err != nil {
		return nil, nil, fmt.Errorf("accepting over the loopback device: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if sender, err = out.(*net.TCPConn).File(); err != nil { //nolint:errcheck // made by tcp4
		return nil, nil, fmt.Errorf("connection over the loopback device: %w", err)
	}
	if receiver, err = in.(*net.TCPConn).File(); err != nil { //nolint:errcheck // made by tcp4
		return nil, nil, errors.Join(fmt.Errorf("connection over the loopback device: %w", err), sender.Close())
	}
	return sender, receiver, nil
}

// linkState is what the two threads of a link do.
type linkState int32

const (
	linkIdle linkState = iota // sleep
	linkSpin                  // keep the CPU busy without memory traffic
	linkRun                   // messages flow
	linkEnd
)

const (
	// transfer is the size of one system call. It lies in the sender's second-level
	// cache, which keeps its reads off the bus.
	transfer = 256 << 10
	// patience is how long a thread waits for the other before it checks the state
	// again.
	patience = 2 * time.Millisecond
	// nap is how long an idle thread sleeps.
	nap = 200 * time.Microsecond
	// spinning is how long it spins at a time.
	spinning = 50 * time.Microsecond
)

// link is a receiver and a sender, each a thread pinned to its CPU.
type link struct {
	state    atomic.Int32
	received atomic.Int64
	ended    sync.WaitGroup
	mutex    sync.Mutex
	fault    error
}

// newLink starts both threads, idle. The receiver writes messages to memory, one
// after the other.
func newLink(ctx context.Context, connect Connect, cores Cores, memory []byte) (*link, error) {
	if connect == nil {
		connect = Loopback
	}
	out, in, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{}
	// Fd makes the descriptors blocking: each thread waits for the other in the
	// kernel.
	to, from := int(out.Fd()), int(in.Fd())
	wait := unix.NsecToTimeval(patience.Nanoseconds())
	err = errors.Join(
		unix.SetsockoptTimeval(to, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait),
		unix.SetsockoptTimeval(from, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connection: %w", err), out.Close(), in.Close())
	}
	l.thread("receiver", cores.Receiver, in, func() error { return l.receive(from, memory) })
	l.thread("sender", cores.Sender, out, func() error { return l.send(to, cores.Sender != cores.Receiver) })
	return l, nil
}

// thread runs a loop on a CPU to its end and closes its end of the connection.
func (l *link) thread(name string, cpu int, end *os.File, loop func() error) {
	l.ended.Go(func() {
		var fault error
		err := topology.RunOn(cpu, func() { fault = loop() })
		if linkState(l.state.Load()) == linkEnd {
			// Either side may see the end of the other before the state.
			fault = nil
		}
		err = errors.Join(err, fault, end.Close())
		if err != nil {
			l.mutex.Lock()
			l.fault = errors.Join(l.fault, fmt.Errorf("%s on CPU %d: %w", name, cpu, err))
			l.mutex.Unlock()
		}
	})
}

func (l *link) receive(fd int, memory []byte) error {
	at := 0
	for {
		switch linkState(l.state.Load()) {
		case linkEnd:
			return nil
		case linkIdle:
			time.Sleep(nap)
		case linkSpin:
			kernel.Spin(spinning)
		case linkRun:
			n, err := unix.Read(fd, memory[at:min(at+transfer, len(memory))])
			switch {
			case err == nil && n == 0:
				return errors.New("the sender has closed the connection")
			case err == nil:
				l.received.Add(int64(n))
				if at += n; at == len(memory) {
					at = 0
				}
			case !again(err):
				return fmt.Errorf("receiving: %w", err)
			}
		}
	}
}

// send sends the same bytes repeatedly. A sender with a CPU of its own spins when
// the receiver does.
func (l *link) send(fd int, ownCPU bool) error {
	data := make([]byte, transfer)
	kernel.Fill(data, 1)
	for {
		switch state := linkState(l.state.Load()); {
		case state == linkEnd:
			return nil
		case state == linkRun:
			if _, err := unix.Write(fd, data); err != nil && !again(err) {
				return fmt.Errorf("sending: %w", err)
			}
		case state == linkSpin && ownCPU:
			kernel.Spin(spinning)
		default:
			time.Sleep(nap)
		}
	}
}

// again reports whether a call only waited too long or was interrupted.
func again(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}

// set has both threads follow a state, within about patience.
func (l *link) set(s linkState) { l.state.Store(int32(s)) }

// failed returns why a thread has ended early; nil if none has.
func (l *link) failed() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.fault
}

// close ends both threads and returns their errors.
func (l *link) close() error {
	l.set(linkEnd)
	l.ended.Wait()
	return l.failed()
}
