package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/network/namespaces"
)

// wires are the connections of a cluster. They are reused, because a used connection
// has its window open.
type wires struct {
	cluster *namespaces.Cluster
	bytes   int64
	control string
	open    map[[2]int][]*wire
}

// wire is one connection.
type wire struct{ sender, receiver net.Conn }

// run implements transport.
func (w *wires) run(ctx context.Context, conflict []network.Communication) ([]float64, error) {
	used := make(map[[2]int]int)
	var taken []*wire
	for _, c := range conflict {
		between := [2]int{c.From, c.To}
		if used[between] == len(w.open[between]) {
			opened, err := w.connect(ctx, c.From, c.To)
			if err != nil {
				return nil, err
			}
			w.open[between] = append(w.open[between], opened)
		}
		taken = append(taken, w.open[between][used[between]])
		used[between]++
	}
	// Closing ends calls that wait when the context ends.
	defer context.AfterFunc(ctx, func() { _ = w.close() })()
	seconds, faults := make([]float64, len(taken)), make(chan error, 2*len(taken))
	begin := make(chan struct{})
	for i, t := range taken {
		go func() { faults <- t.receive(w.bytes) }()
		go func() {
			<-begin
			var err error
			seconds[i], err = t.send(w.bytes)
			faults <- err
		}()
	}
	close(begin)
	var err error
	for range 2 * len(taken) {
		if fault := <-faults; fault != nil && err == nil {
			err = fault
			_ = w.close() // others may wait for what failed
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return seconds, err
}

// send sends and waits for the receiver's acknowledgment of all bytes. It returns
// the seconds from the start.
func (t *wire) send(bytes int64) (float64, error) {
	began := time.Now()
	if _, err := io.CopyN(writer{t.sender}, zeros{}, bytes); err != nil {
		return 0, fmt.Errorf("sending: %w", err)
	}
	if _, err := io.ReadFull(t.sender, make([]byte, 1)); err != nil {
		return 0, fmt.Errorf("waiting for the receiver: %w", err)
	}
	return time.Since(began).Seconds(), nil
}

func (t *wire) receive(bytes int64) error {
	if _, err := io.CopyN(discard{}, t.receiver, bytes); err != nil {
		return fmt.Errorf("receiving: %w", err)
	}
	if _, err := t.receiver.Write([]byte{1}); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	return nil
}

// zeros yields zeros, writer hides the ReadFrom of a connection, and discard drops
// what it gets. With them every byte goes through a system call, as in an
// application.
type (
	zeros   struct{}
	writer  struct{ io.Writer }
	discard struct{}
)

func (zeros) Read(p []byte) (int, error)    { return len(p), nil }
func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (w *wires) connect(ctx context.Context, from, to int) (*wire, error) {
	out, in, err := w.cluster.Connect(ctx, from, to)
	if err != nil {
		return nil, err
	}
	sender, err := w.conn(out)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	receiver, err := w.conn(in)
	if err != nil {
		return nil, errors.Join(err, sender.Close())
	}
	return &wire{sender, receiver}, nil
}

// conn makes a connection of a file, which it closes.
func (w *wires) conn(f *os.File) (net.Conn, error) {
	defer f.Close()
	if w.control != "" {
		raw, err := f.SyscallConn()
		if err != nil {
			return nil, fmt.Errorf("connection: %w", err)
		}
		var fault error
		err = raw.Control(func(fd uintptr) {
			fault = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, w.control)
		})
		if err := errors.Join(err, fault); err != nil {
			return nil, fmt.Errorf("%w: %q: choose one of /proc/sys/net/ipv4/tcp_available_congestion_control: %w", ErrCongestionControl, w.control, err)
		}
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("connection: %w", err)
	}
	return c, nil
}

// ErrCongestionControl is wrapped when the kernel does not have the congestion
// control that was asked for.
var ErrCongestionControl = errors.New("no such congestion control of TCP here")

// close closes all connections; it may be called again.
func (w *wires) close() error {
	var faults []error
	for _, between := range w.open {
		for _, t := range between {
			for _, c := range []net.Conn{t.sender, t.receiver} {
				if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
					faults = append(faults, err)
				}
			}
		}
	}
	return errors.Join(faults...)
}
