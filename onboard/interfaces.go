package onboard

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// InterfaceCounters are what a network interface has received and sent since it
// came up, in bytes.
type InterfaceCounters struct{ Received, Sent uint64 }

// netDevice is where the kernel tells the counters of the interfaces of this
// process's network namespace (proc_pid_net(5)).
const netDevice = "/proc/self/net/dev"

// ParseInterfaces reads counters by interface in the form of /proc/net/dev:
//
//	Inter-|   Receive                            …  |  Transmit
//	 face |bytes    packets errs drop fifo frame …  |bytes    packets …
//	  eth0: 1416872240   80840    0    0    0     0 …  6728900   60928 …
//
// Faults are placed at their line.
func ParseInterfaces(r io.Reader) (map[string]InterfaceCounters, error) {
	const headings, fields, sentField = 2, 16, 8
	counters := map[string]InterfaceCounters{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n <= headings {
			continue
		}
		name, rest, ok := strings.Cut(lines.Text(), ":")
		values := strings.Fields(rest)
		if name = strings.TrimSpace(name); !ok || name == "" || len(values) < fields {
			return nil, fmt.Errorf("line %d: want INTERFACE: and %d counters, have %q", n, fields, lines.Text())
		}
		received, err := strconv.ParseUint(values[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: bytes received: %w", n, err)
		}
		sent, err := strconv.ParseUint(values[sentField], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: bytes sent: %w", n, err)
		}
		if _, twice := counters[name]; twice {
			return nil, fmt.Errorf("line %d: interface %s is there twice", n, name)
		}
		counters[name] = InterfaceCounters{received, sent}
	}
	return counters, lines.Err()
}

// readInterfaces adds the counters of the named interfaces up; of all but the
// loopback without a name.
func readInterfaces(names []string) (InterfaceCounters, error) {
	file, err := os.Open(netDevice)
	if err != nil {
		return InterfaceCounters{}, fmt.Errorf("counters of the network interfaces: %w", err)
	}
	defer file.Close()
	all, err := ParseInterfaces(file)
	if err != nil {
		return InterfaceCounters{}, fmt.Errorf("%s: %w", netDevice, err)
	}
	return addInterfaces(all, names)
}

// loopback stays on its node.
const loopback = "lo"

func addInterfaces(all map[string]InterfaceCounters, names []string) (sum InterfaceCounters, err error) {
	if len(names) == 0 {
		for name := range all {
			if name != loopback {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		c, ok := all[name]
		if !ok {
			return InterfaceCounters{}, fmt.Errorf("no network interface %s here: see ip link", name)
		}
		sum.Received += c.Received
		sum.Sent += c.Sent
	}
	return sum, nil
}
