package simulate

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"bandmate.dev/bandmate/network"
)

// flow is the transmission of a message.
type flow struct {
	message  *message
	number   int // in the order of their starts
	from, to int // nodes
	rate     float64
	left     float64 // bytes, at the moment when the rate was set
	at       float64 // that moment
	alone    float64 // seconds that the bytes would take alone
	began    float64 // after the latency
	end      float64
	place    int // in the heap
	// While it uses the cards: its places in the lists of its two ports.
	sharing     bool
	outAt, inAt int
	conflicts   kinds
	seen        int // the last sharing that looked at it
}

// penalty returns that of a flow that ends now.
func (f *flow) penalty(now float64) float64 {
	if f.alone == 0 {
		return 1
	}
	return math.Max(1, (now-f.began)/f.alone)
}

// kinds are the conflicts that a flow was in.
type kinds struct{ outgoing, incoming, incomeOutgo bool }

func (k kinds) count(c *Conflicts) {
	if k.outgoing {
		c.Outgoing++
	}
	if k.incoming {
		c.Incoming++
	}
	if k.incomeOutgo {
		c.IncomeOutgo++
	}
}

// wire carries the flows of a cluster.
type wire struct {
	model     network.Model
	ethernet  *network.GigabitEthernet
	bandwidth float64
	memory    float64
	latency   float64
	started   int
	byEnd     flows
	// The flows that use each node's card now, and the nodes whose flows have
	// changed since the last sharing.
	out, in           [][]*flow
	dirtyOut, dirtyIn []int
	sharings          int
	// The ports of each node, as of the sharing of the same index.
	leaving, arriving         []network.Port
	leavingSeen, arrivingSeen []int
	// The last sharing in which a change at a node was followed, and in which the flows of a
	// neighbor were collected.
	changedOut, changedIn []int
	nearOut, nearIn       []int
	known                 map[string][]float64
	gone                  []*flow
	joined                []*flow
	affected              []*flow
}

func newWire(m network.Model, c Cluster) *wire {
	w := &wire{
		model: m, bandwidth: float64(c.Bandwidth), memory: float64(c.MemoryBandwidth),
		latency: time.Duration(c.Latency).Seconds(),
		out:     make([][]*flow, c.Nodes), in: make([][]*flow, c.Nodes),
		leaving: make([]network.Port, c.Nodes), arriving: make([]network.Port, c.Nodes),
		leavingSeen: make([]int, c.Nodes), arrivingSeen: make([]int, c.Nodes),
		changedOut: make([]int, c.Nodes), changedIn: make([]int, c.Nodes),
		nearOut: make([]int, c.Nodes), nearIn: make([]int, c.Nodes),
		known: make(map[string][]float64),
	}
	if e, ok := m.(network.GigabitEthernet); ok {
		w.ethernet = &e
	}
	return w
}

// start sends a message: through memory, or after the latency through the cards.
func (w *wire) start(now float64, m *message) *flow {
	f := &flow{message: m, number: w.started, from: m.from.node, to: m.to.node, left: m.bytes, at: now, began: now}
	w.started++
	if f.from == f.to {
		f.alone = m.bytes / w.memory
		f.end = now + f.alone
	} else {
		f.alone = m.bytes / w.bandwidth
		f.began = now + w.latency
		f.end = f.began
	}
	heap.Push(&w.byEnd, f)
	return f
}

// next returns when the next flow ends or begins to use the cards; +Inf for none.
func (w *wire) next() float64 {
	if len(w.byEnd) == 0 {
		return math.Inf(1)
	}
	return w.byEnd[0].end
}

// slack is the relative difference below which two ends are the same moment.
const slack = 1e-12

// ended returns the flows that have ended by now. Flows whose latency has passed
// join those that share the cards. The list is valid until the next call.
func (w *wire) ended(now float64) []*flow {
	w.gone = w.gone[:0]
	for len(w.byEnd) > 0 && w.byEnd[0].end <= now+slack*now {
		f := w.byEnd[0]
		if f.from != f.to && !f.sharing && f.left > 0 {
			w.join(f, now)
			continue
		}
		heap.Pop(&w.byEnd)
		if f.sharing {
			w.leave(f)
		}
		w.gone = append(w.gone, f)
	}
	return w.gone
}

// join lets a flow use the cards; its rate is set by the next sharing.
func (w *wire) join(f *flow, now float64) {
	f.sharing, f.at = true, now
	f.outAt, f.inAt = len(w.out[f.from]), len(w.in[f.to])
	w.out[f.from] = append(w.out[f.from], f)
	w.in[f.to] = append(w.in[f.to], f)
	w.touch(f)
	w.joined = append(w.joined, f)
	f.end = math.Inf(1)
	heap.Fix(&w.byEnd, f.place)
}

func (w *wire) leave(f *flow) {
	out, in := w.out[f.from], w.in[f.to]
	last := out[len(out)-1]
	out[f.outAt], last.outAt = last, f.outAt
	w.out[f.from] = out[:len(out)-1]
	last = in[len(in)-1]
	in[f.inAt], last.inAt = last, f.inAt
	w.in[f.to] = in[:len(in)-1]
	w.touch(f)
}

func (w *wire) touch(f *flow) {
	w.dirtyOut = append(w.dirtyOut, f.from)
	w.dirtyIn = append(w.dirtyIn, f.to)
}

// share sets the rates of all flows that the changes since the last call affect.
func (w *wire) share(now float64) error {
	if len(w.dirtyOut) == 0 {
		return nil
	}
	w.sharings++
	for _, f := range w.joined {
		w.noteConflicts(f)
	}
	w.joined = w.joined[:0]
	var err error
	if w.ethernet != nil {
		w.shareNear(now)
	} else {
		err = w.shareParts(now)
	}
	w.dirtyOut, w.dirtyIn = w.dirtyOut[:0], w.dirtyIn[:0]
	return err
}

// noteConflicts records the conflicts of a new flow with those that arrive where it
// leaves, or leave where it arrives. They change no rate, so sharing ignores them.
func (w *wire) noteConflicts(f *flow) {
	for _, others := range [][]*flow{w.in[f.from], w.out[f.to]} {
		for _, other := range others {
			f.conflicts.incomeOutgo, other.conflicts.incomeOutgo = true, true
		}
	}
}

// shareNear is for GigabitEthernet, whose penalties depend only on the flows that
// share a card with a neighbor: on those two steps from the change.
func (w *wire) shareNear(now float64) {
	w.affected = w.affected[:0]
	collect := func(fs []*flow) {
		for _, f := range fs {
			if f.seen != w.sharings {
				f.seen = w.sharings
				w.affected = append(w.affected, f)
			}
		}
	}
	// Many flows of a node may change at a time, and many have the same neighbor.
	first := func(seen []int, node int) bool {
		again := seen[node] == w.sharings
		seen[node] = w.sharings
		return !again
	}
	for _, node := range w.dirtyOut {
		if !first(w.changedOut, node) {
			continue
		}
		collect(w.out[node])
		for _, f := range w.out[node] {
			if first(w.nearIn, f.to) {
				collect(w.in[f.to])
			}
		}
	}
	for _, node := range w.dirtyIn {
		if !first(w.changedIn, node) {
			continue
		}
		collect(w.in[node])
		for _, f := range w.in[node] {
			if first(w.nearOut, f.from) {
				collect(w.out[f.from])
			}
		}
	}
	for _, f := range w.affected {
		if w.leavingSeen[f.from] != w.sharings {
			w.leavingSeen[f.from], w.leaving[f.from] = w.sharings, network.Port{}
			for _, other := range w.out[f.from] {
				w.leaving[f.from].Add(len(w.in[other.to]))
			}
		}
		if w.arrivingSeen[f.to] != w.sharings {
			w.arrivingSeen[f.to], w.arriving[f.to] = w.sharings, network.Port{}
			for _, other := range w.in[f.to] {
				w.arriving[f.to].Add(len(w.out[other.from]))
			}
		}
		w.set(f, now, w.ethernet.Penalty(len(w.out[f.from]), len(w.in[f.to]), w.leaving[f.from], w.arriving[f.to]))
	}
}

// shareParts is for the other models, which need whole parts that share cards.
func (w *wire) shareParts(now float64) error {
	for _, node := range w.dirtyOut {
		if err := w.sharePart(now, w.out[node]); err != nil {
			return err
		}
	}
	for _, node := range w.dirtyIn {
		if err := w.sharePart(now, w.in[node]); err != nil {
			return err
		}
	}
	return nil
}

func (w *wire) sharePart(now float64, seeds []*flow) error {
	part := w.affected[:0]
	collect := func(fs []*flow) {
		for _, f := range fs {
			if f.seen != w.sharings {
				f.seen = w.sharings
				part = append(part, f)
			}
		}
	}
	collect(seeds)
	for i := 0; i < len(part); i++ { //nolint:intrange // part grows
		collect(w.out[part[i].from])
		collect(w.in[part[i].to])
	}
	w.affected = part
	if len(part) == 0 {
		return nil
	}
	slices.SortFunc(part, func(a, b *flow) int { return cmp.Compare(a.number, b.number) })
	penalties, err := w.penalties(part)
	if err != nil {
		return err
	}
	for i, f := range part {
		w.set(f, now, penalties[i])
	}
	return nil
}

// maxKnown bounds the memory of known shapes.
const maxKnown = 100_000

// penalties asks the model, once for every shape of a part: its communications with
// the nodes numbered in order of appearance.
func (w *wire) penalties(part []*flow) ([]float64, error) {
	conflict := make([]network.Communication, len(part))
	key := make([]byte, 0, 4*len(part))
	from, to := make(map[int]int), make(map[int]int)
	number := func(seen map[int]int, node int) int {
		n, ok := seen[node]
		if !ok {
			n = len(seen)
			seen[node] = n
		}
		return n
	}
	for i, f := range part {
		key = binary.AppendUvarint(key, uint64(number(from, f.from)))
		key = binary.AppendUvarint(key, uint64(number(to, f.to)))
		conflict[i] = network.Communication{Name: strconv.Itoa(f.number), From: f.from, To: f.to}
	}
	if p, ok := w.known[string(key)]; ok {
		return p, nil
	}
	p, err := w.model.Penalties(conflict)
	if err == nil && len(w.known) < maxKnown {
		w.known[string(key)] = p
	}
	return p, err
}

// set gives a flow a new share of the cards.
func (w *wire) set(f *flow, now, penalty float64) {
	f.left = math.Max(0, f.left-f.rate*(now-f.at))
	f.at, f.rate = now, w.bandwidth/penalty
	f.end = now + f.left/f.rate
	heap.Fix(&w.byEnd, f.place)
	f.conflicts.outgoing = f.conflicts.outgoing || len(w.out[f.from]) > 1
	f.conflicts.incoming = f.conflicts.incoming || len(w.in[f.to]) > 1
}

// flows is a heap by end, then by start.
type flows []*flow

func (h flows) Len() int { return len(h) }
func (h flows) Less(i, j int) bool {
	if h[i].end != h[j].end {
		return h[i].end < h[j].end
	}
	return h[i].number < h[j].number
}

func (h flows) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *flows) Push(x any) {
	f := x.(*flow) //nolint:errcheck // holds nothing else
	f.place = len(*h)
	*h = append(*h, f)
}

func (h *flows) Pop() any {
	old := *h
	f := old[len(old)-1]
	*h = old[:len(old)-1]
	return f
}
