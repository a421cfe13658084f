// Package namespaces makes a small cluster out of network namespaces of this
// machine: nodes behind a switch, each with a network card of a limited rate in
// both directions.
//
// A child process holds the namespaces. Its user namespace makes an ordinary user
// root over networks of its own (user_namespaces(7)), so no permission is needed
// where the kernel allows users such namespaces. A bridge is the switch, a veth
// pair each node's cable, and a token bucket (tc-tbf(8)) at either end its rate.
// The kernel removes all of it when the child ends, or the program that started it.
package namespaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/units"
)

// ErrNotPermitted is wrapped when this user may not have network namespaces, or the
// kernel lacks a part of the cluster.
var ErrNotPermitted = errors.New("no network namespaces here")

// Options describe a cluster.
type Options struct {
	// Nodes is the number of nodes, 2 to MaxNodes; they are numbered from 0.
	Nodes int `json:"nodes"`
	// Rate is what each card carries in each direction, MinRate to MaxRate; 0
	// does not limit it.
	Rate units.Bandwidth `json:"rate,omitempty"`
}

// Bounds of Options.
const (
	MaxNodes = 250
	MinRate  = 100 * units.KilobytePerSecond
	// MaxRate is the highest that the kernel holds in 32 bits.
	MaxRate = 4 * units.GigabytePerSecond
)

// Validate reports every option that is out of range.
func (o Options) Validate() error {
	var err error
	if o.Nodes < 2 || o.Nodes > MaxNodes {
		err = fmt.Errorf("%d nodes: want 2 to %d", o.Nodes, MaxNodes)
	}
	if o.Rate != 0 && !(o.Rate >= MinRate && o.Rate <= MaxRate) {
		err = errors.Join(err, fmt.Errorf("rate of %s: want %s to %s", o.Rate, MinRate, MaxRate))
	}
	return err
}

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	process *exec.Cmd
	control *net.UnixConn
	mutex   sync.Mutex // one request at a time
	closed  sync.Once
	fault   error
	stop    func() bool
}

// Open starts a cluster. When ctx ends, it is closed; Close must be called in any
// case. The program must call RunIfChild first in main.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	if role.Taken() {
		return nil, errors.New("started from the process that holds the network namespaces: main has to call namespaces.RunIfChild first")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var fault error
	for _, flags := range cloneFlags() {
		c, err := start(ctx, o, flags)
		if err == nil {
			return c, nil
		}
		fault = err
		if !errors.Is(err, ErrNotPermitted) {
			break
		}
	}
	return nil, fault
}

// cloneFlags returns the namespaces to try. Root needs no user namespace, but not
// every root may have a network namespace without one.
func cloneFlags() []uintptr {
	if os.Geteuid() == 0 {
		return []uintptr{unix.CLONE_NEWNET, unix.CLONE_NEWNET | unix.CLONE_NEWUSER}
	}
	return []uintptr{unix.CLONE_NEWNET | unix.CLONE_NEWUSER}
}

// start starts the child and waits until the cluster is ready, or ctx ends.
func start(ctx context.Context, o Options, flags uintptr) (*Cluster, error) {
	config, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("configuration of the cluster: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	own, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control of the child")
	defer theirs.Close()
	connection, err := net.FileConn(own)
	err = errors.Join(err, own.Close())
	if err != nil {
		return nil, fmt.Errorf("control of the child: %w", err)
	}
	c := &Cluster{control: connection.(*net.UnixConn)} //nolint:errcheck // a pair of AF_UNIX
	c.process = role.Command(string(config))
	c.process.ExtraFiles = []*os.File{theirs}
	c.process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: flags,
		Setpgid:    true, // Ctrl-C is for this process
	}
	if flags&unix.CLONE_NEWUSER != 0 {
		c.process.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		c.process.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if err := c.process.Start(); err != nil {
		return nil, errors.Join(refused(err), c.control.Close())
	}
	theirs.Close()
	c.stop = context.AfterFunc(ctx, func() { _ = c.end() })
	if _, err := c.answer(0); err != nil || ctx.Err() != nil {
		return nil, errors.Join(c.why(ctx, err), c.Close())
	}
	return c, nil
}

// refused explains why a namespace cannot be made.
func refused(err error) error {
	for _, no := range []error{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.ENOSYS} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w: run as root, or let users have namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container, allow unshare", ErrNotPermitted, err)
		}
	}
	return fmt.Errorf("starting the network namespaces: %w", err)
}

// Connect makes a TCP connection from one node to another and returns its two ends,
// which this process uses and closes like any others.
func (c *Cluster) Connect(ctx context.Context, from, to int) (sender, receiver *os.File, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(request{From: from, To: to})
	if err != nil {
		return nil, nil, fmt.Errorf("connecting nodes %d and %d: %w", from, to, err)
	}
	if _, err := c.control.Write(text); err != nil {
		return nil, nil, c.why(ctx, err)
	}
	files, err := c.answer(2)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting nodes %d and %d: %w", from, to, c.why(ctx, err))
	}
	return files[0], files[1], nil
}

// why returns the cause of the context, or else err.
func (*Cluster) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// answer reads the child's answer with so many files.
func (c *Cluster) answer(files int) ([]*os.File, error) {
	text, descriptors := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*2))
	n, attached, _, _, err := c.control.ReadMsgUnix(text, descriptors)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("the process that holds the network namespaces has ended: main has to call namespaces.RunIfChild first: %w", errors.Join(err, os.ErrProcessDone))
	}
	got, err := receivedFiles(descriptors[:attached])
	if err != nil {
		return nil, err
	}
	var r response
	if err := json.Unmarshal(text[:n], &r); err != nil {
		return nil, errors.Join(fmt.Errorf("answer of the network namespaces: %w", err), closeFiles(got))
	}
	switch {
	case r.Fault != "" && r.NotPermitted:
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNotPermitted, r.Fault), closeFiles(got))
	case r.Fault != "":
		return nil, errors.Join(errors.New(r.Fault), closeFiles(got))
	case len(got) != files:
		return nil, errors.Join(fmt.Errorf("answer of the network namespaces: %d files, want %d", len(got), files), closeFiles(got))
	}
	return got, nil
}

// Close ends the cluster and waits until its process is gone. Connections end
// when they are closed themselves. Further calls return the same.
func (c *Cluster) Close() error {
	c.stop()
	return c.end()
}

func (c *Cluster) end() error {
	c.closed.Do(func() {
		c.fault = c.control.Close()
		_ = c.process.Process.Kill()
		_ = c.process.Wait() // killed, as told
	})
	return c.fault
}
