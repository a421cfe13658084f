package namespaces

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/internal/requires"
)

func TestMain(m *testing.M) {
	RunIfChild()
	os.Exit(m.Run())
}

// open opens a cluster, or ends the test where there can be none.
func open(ctx context.Context, t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Open(ctx, o)
	if errors.Is(err, ErrNotPermitted) {
		requires.Unmet(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// conn makes a connection of a file that Connect returned.
func conn(t *testing.T, f *os.File) net.Conn {
	t.Helper()
	c, err := net.FileConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConnect(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := open(t.Context(), t, Options{Nodes: 3, Rate: 20e6})
	for _, pair := range [][2]int{{0, 2}, {2, 0}, {1, 2}} {
		from, to, err := c.Connect(t.Context(), pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		out, in := conn(t, from), conn(t, to)
		const text = "over the switch"
		go func() { _, _ = io.WriteString(out, text); out.Close() }()
		got, err := io.ReadAll(in)
		if err != nil || string(got) != text {
			t.Errorf("%v: %q, %v", pair, got, err)
		}
		if address := in.RemoteAddr().String(); !strings.HasPrefix(address, addressOf(pair[0]).String()+":") {
			t.Errorf("%v: from %s", pair, address)
		}
		in.Close()
	}
	for _, pair := range [][2]int{{0, 3}, {-1, 0}, {1, 1}} {
		if _, _, err := c.Connect(t.Context(), pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), "want two different ones from 0 to 2") {
			t.Errorf("%v: %v", pair, err)
		}
	}
}

// The card holds a sender back to its rate: more than the burst takes at least
// the time that it says.
func TestRate(t *testing.T) {
	const rate, size = 2e6, 1 << 20
	c := open(t.Context(), t, Options{Nodes: 2, Rate: rate})
	from, to, err := c.Connect(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, in := conn(t, from), conn(t, to)
	defer in.Close()
	began := time.Now()
	go func() { _, _ = out.Write(make([]byte, size)); out.Close() }()
	n, err := io.Copy(io.Discard, in)
	if took, least := time.Since(began).Seconds(), (size-2*burst)/float64(rate); err != nil || n != size || took < least {
		t.Errorf("%d bytes in %.3f s, %v: want %.3f s at least", n, took, err, least)
	}
}

// Nothing stays: neither of a cluster that was closed, nor of one whose context
// ended.
func TestGone(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := open(ctx, t, Options{Nodes: 2})
	pid := c.process.Process.Pid
	cancel()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
	if _, _, err := c.Connect(ctx, 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("connecting in a cluster that is gone: %v", err)
	}
	if _, err := Open(ctx, Options{Nodes: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("opened after the end: %v", err)
	}
}

// watched ends as soon as something waits for its end.
type watched struct {
	context.Context

	end context.CancelFunc
}

func (watched) Value(any) any { return nil }

func (w watched) AfterFunc(f func()) (stop func() bool) {
	w.end()
	return context.AfterFunc(w.Context, f)
}

// A context that ends while the nodes are made ends that.
func TestInterruptedWhileOpening(t *testing.T) {
	defer goleak.VerifyNone(t)
	open(t.Context(), t, Options{Nodes: 2}) // where there can be one
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := Open(watched{ctx, cancel}, Options{Nodes: MaxNodes})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err == nil {
		_ = c.Close()
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{}, "0 nodes"},
		{Options{Nodes: MaxNodes + 1}, "251 nodes"},
		{Options{Nodes: 2, Rate: 1}, "rate of 1.00 B/s"},
		{Options{Nodes: 2, Rate: -1}, "rate of"},
		{Options{Nodes: 2, Rate: 1e10}, "rate of 10.0 GB/s"},
	} {
		if _, err := Open(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.o, err, test.want)
		}
	}
}

// What the kernel forbids comes with the remedy, what fails otherwise does not.
func TestRefusedByTheKernel(t *testing.T) {
	for errno, forbidden := range map[syscall.Errno]bool{
		syscall.EPERM: true, syscall.ENOSPC: true, syscall.EINVAL: true, syscall.ENOMEM: false, syscall.ENOENT: false,
	} {
		err := refused(&os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: errno})
		if !errors.Is(err, errno) || errors.Is(err, ErrNotPermitted) != forbidden || strings.Contains(err.Error(), "run as root") != forbidden {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

// A program that forgets RunIfChild does not start itself without end.
func TestOpenFromTheChild(t *testing.T) {
	t.Setenv(role.Variable(), "{}")
	c, err := Open(t.Context(), Options{Nodes: 2})
	if err == nil {
		_ = c.Close()
		t.Fatal("started")
	}
	if !strings.Contains(err.Error(), "RunIfChild") {
		t.Errorf("error %v, want a hint at RunIfChild", err)
	}
}
