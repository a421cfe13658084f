package namespaces

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/units"
)

// network is the cluster in its child process, whose own network namespace holds
// the switch.
type network struct {
	home  netns.NsHandle
	nodes []netns.NsHandle
}

// unlimitedFrame is the size of frames between cards without a rate, in bytes.
const unlimitedFrame = 65000

// card is the name of a node's network card.
const card = "card"

// build makes the switch and all nodes.
func build(o Options) (*network, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("network namespace: is /proc mounted? %w", err)
	}
	n := &network{home: home}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "switch"
	no := false
	bridge := &netlink.Bridge{LinkAttrs: attributes, MulticastSnooping: &no}
	if err := netlink.LinkAdd(bridge); err != nil {
		return nil, lacks("a bridge", "bridge", err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("switch: %w", err)
	}
	for i := range o.Nodes {
		if err := n.add(i, bridge, o.Rate); err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
	}
	return n, nil
}

// lacks explains that the kernel or a permission is missing.
func lacks(what, module string, err error) error {
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: the kernel gives no %s (%w): modprobe %s, or a kernel that has it", ErrNotPermitted, what, err, module)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// add makes a node and connects it to the switch.
func (n *network) add(i int, bridge netlink.Link, rate units.Bandwidth) error {
	node, err := netns.New() // and this thread is in it
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	if err := netns.Set(n.home); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	n.nodes = append(n.nodes, node)
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "port" + strconv.Itoa(i)
	cable := netlink.NewVeth(attributes)
	cable.PeerName = card
	if rate == 0 {
		// Large frames cost less, and no rate depends on their number.
		cable.MTU, cable.PeerMTU = unlimitedFrame, unlimitedFrame
	}
	cable.PeerNamespace = netlink.NsFd(int(node))
	if err := netlink.LinkAdd(cable); err != nil {
		return lacks("pair of virtual cards", "veth", err)
	}
	inside, err := netlink.NewHandleAt(node)
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	defer inside.Close()
	end, err := inside.LinkByName(card)
	if err != nil {
		return fmt.Errorf("card: %w", err)
	}
	if rate > 0 {
		if err := inside.QdiscAdd(bucket(end, rate)); err != nil {
			return lacks("token bucket", "sch_tbf", err)
		}
		if err := netlink.QdiscAdd(bucket(cable, rate)); err != nil {
			return lacks("token bucket", "sch_tbf", err)
		}
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: addressOf(i), Mask: net.CIDRMask(16, 32)}}
	err = errors.Join(inside.AddrAdd(end, address), inside.LinkSetUp(end), netlink.LinkSetMaster(cable, bridge), netlink.LinkSetUp(cable))
	if err != nil {
		return fmt.Errorf("card: %w", err)
	}
	return nil
}

// addressOf returns the address of a node. The network is private, so any will do.
func addressOf(i int) net.IP { return net.IPv4(10, 77, byte(i>>8), byte(i&0xff)+1) }

const (
	// burst is the number of bytes that may go at once after a pause. It holds the
	// largest packet, which the kernel otherwise cuts into frames.
	burst = 128 << 10
	// queue is how long a full queue takes to drain, in seconds: some
	// milliseconds, as in a switch.
	queue = 10e-3
)

// bucket limits the rate at which a card sends.
func bucket(link netlink.Link, rate units.Bandwidth) *netlink.Tbf {
	return &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       uint64(rate),
		Buffer:     netlink.Xmittime(uint64(rate), burst),
		Limit:      uint32(float64(rate)*queue) + 2*burst,
	}
}

// connect makes a TCP connection between two nodes and returns its descriptors.
func (n *network) connect(from, to int) (sender, receiver int, err error) {
	if last := len(n.nodes) - 1; min(from, to) < 0 || max(from, to) > last || from == to {
		return -1, -1, fmt.Errorf("nodes %d and %d: want two different ones from 0 to %d", from, to, last)
	}
	var listener net.Listener
	if err := n.inside(to, func() error {
		var config net.ListenConfig
		listener, err = config.Listen(context.Background(), "tcp4", net.JoinHostPort(addressOf(to).String(), "0"))
		return err
	}); err != nil {
		return -1, -1, err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	var out net.Conn
	if err := n.inside(from, func() error {
		dialer := net.Dialer{Timeout: reachable}
		out, err = dialer.DialContext(context.Background(), "tcp4", listener.Addr().String())
		return err
	}); err != nil {
		return -1, -1, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	in, err := listener.Accept()
	if err != nil {
		return -1, -1, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if sender, err = duplicate(out); err != nil {
		return -1, -1, err
	}
	if receiver, err = duplicate(in); err != nil {
		return -1, -1, errors.Join(err, unix.Close(sender))
	}
	return sender, receiver, nil
}

// reachable is how long a node may take to answer.
const reachable = 10 * time.Second

// inside runs a function in the network of a node. A socket belongs to the network
// in which it was made, so only making it needs this.
func (n *network) inside(node int, run func() error) error {
	runtime.LockOSThread()
	if err := netns.Set(n.nodes[node]); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("network namespace: %w", err)
	}
	err := run()
	if back := netns.Set(n.home); back != nil {
		return errors.Join(err, back) // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// duplicate returns a descriptor of its own for a connection.
func duplicate(c net.Conn) (int, error) {
	file, err := c.(*net.TCPConn).File() //nolint:errcheck // made by tcp4
	if err != nil {
		return -1, err
	}
	defer file.Close()
	return own(file)
}

func own(file *os.File) (int, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return -1, err
	}
	descriptor := -1
	var fault error
	err = raw.Control(func(fd uintptr) { descriptor, fault = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) })
	return descriptor, errors.Join(err, fault)
}
