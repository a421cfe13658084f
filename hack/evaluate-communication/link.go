package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/units"
)

const (
	// farVariable tells the program that it runs in its own namespace, and which
	// process keeps the far one.
	farVariable = "EVALUATE_COMMUNICATION_FAR"
	nearAddress = "10.77.0.1"
	farAddress  = "10.77.0.2"
)

// enterNamespaces makes two network namespaces with nothing in them and starts
// this program again in one, and waits for it; far is the process that keeps the
// other one, in the program so started, and empty in the one that waited.
func enterNamespaces(ctx context.Context) (far string, err error) {
	if far := os.Getenv(farVariable); far != "" {
		return far, nil
	}
	// The parent-death signal follows the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := func(what string, args ...string) (*exec.Cmd, error) {
		command := exec.CommandContext(ctx, "/proc/self/exe", args...)
		command.Env = os.Environ()
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
		command.WaitDelay = 10 * time.Second
		if what != "" {
			command.Env = append(command.Env, farVariable+"="+what)
		}
		err := command.Start()
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("a network namespace: %w: run it as root", err)
		}
		return command, err
	}
	// Not a child of the program that measures, which would take it for
	// something that an application left behind.
	holder, err := start("", partNamespace)
	if err != nil {
		return "", err
	}
	inside, err := start(strconv.Itoa(holder.Process.Pid), os.Args[1:]...)
	if err == nil {
		err = inside.Wait()
	}
	_ = holder.Process.Kill()
	_ = holder.Wait()
	if err != nil {
		return "", fmt.Errorf("in a network namespace: %w", err)
	}
	return "", nil
}

// holdNamespace keeps its network namespace until it is ended.
func holdNamespace(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// link is the rate-limited way from this namespace to the far one.
type link struct {
	// namespace is the path of the far one.
	namespace string
}

// makeLink connects the namespace to that of the process far; what leaves here is
// limited to the rate. The link ends with the namespaces.
func makeLink(ctx context.Context, far string, rate units.Bandwidth) (*link, error) {
	bits := strconv.FormatInt(int64(8*rate), 10) + "bit"
	there := []string{"nsenter", "--target", far, "--net", "--"}
	for _, command := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", "near", "type", "veth", "peer", "name", "far"},
		{"ip", "link", "set", "far", "netns", far},
		{"ip", "address", "add", nearAddress + "/24", "dev", "near"},
		{"ip", "link", "set", "near", "up"},
		{"tc", "qdisc", "add", "dev", "near", "root", "tbf", "rate", bits, "burst", "256kb", "latency", "50ms"},
		slices.Concat(there, []string{"ip", "address", "add", farAddress + "/24", "dev", "far"}),
		slices.Concat(there, []string{"ip", "link", "set", "far", "up"}),
	} {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s: install iproute2 and util-linux, and run as root", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return &link{namespace: "/proc/" + far + "/ns/net"}, nil
}

// listenFar opens a socket of the far namespace from a thread of this process.
func listenFar(namespace string) (net.Listener, error) {
	type opened struct {
		listener net.Listener
		err      error
	}
	done := make(chan opened)
	go func() {
		// The thread has left its namespace and is thrown away.
		runtime.LockOSThread()
		l, err := func() (net.Listener, error) {
			file, err := os.Open(namespace)
			if err != nil {
				return nil, err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return nil, fmt.Errorf("entering %s: %w", namespace, err)
			}
			return net.Listen("tcp", farAddress+":0")
		}()
		done <- opened{l, err}
	}()
	o := <-done
	return o.listener, o.err
}
