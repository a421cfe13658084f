package simulate

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/network"
)

// process is the state of a task.
type process struct {
	task        *Task
	application int
	number      int // in the application
	place       int // among all
	node        int
	event       int
	round       int
	waits       bool
	ended       bool
	since       float64  // start of the event
	busyUntil   float64  // while it computes
	awaits      *message // that its receive is matched with
	// Messages to it that nobody has received yet, in the order they were sent.
	inbox  []*message
	result TaskResult
	sum    float64 // of penalties
}

// message is the message of a send.
type message struct {
	from, to *process
	bytes    float64
	eager    bool
	matched  bool // a receive waits for it
	arrived  bool
	flow     *flow
}

// simulation plays one scenario.
type simulation struct {
	scenario  Scenario
	processes []*process
	first     []int // of each application
	computing computing
	wire      *wire
	now       float64
	runnable  []*process
	recorder  *recorder
}

// Run plays a scenario, and traces at most so many spans and as many transfers. It
// returns a *Deadlock when tasks wait for ever, network.ErrUnsupported for a
// conflict that the model does not cover, and the context's error when that ends
// first.
func Run(ctx context.Context, s Scenario, traced int) (Result, Trace, error) {
	if err := s.Validate(); err != nil {
		return Result{}, Trace{}, err
	}
	model, err := s.Model.Compile()
	if err != nil {
		return Result{}, Trace{}, err
	}
	r := &recorder{most: traced}
	result, err := play(ctx, s, model, r)
	return result, r.trace, err
}

func play(ctx context.Context, s Scenario, model network.Model, r *recorder) (Result, error) {
	sim := &simulation{scenario: s, wire: newWire(model, s.Cluster), recorder: r}
	for i := range s.Applications {
		sim.first = append(sim.first, len(sim.processes))
		for j := range s.Applications[i].Tasks {
			sim.processes = append(sim.processes, &process{task: &s.Applications[i].Tasks[j], application: i, number: j, place: len(sim.processes)})
		}
	}
	for i, node := range s.Placement.place(s.Cluster, len(sim.processes)) {
		sim.processes[i].node = node
	}
	if err := sim.checkMemory(); err != nil {
		return Result{}, err
	}
	sim.runnable = append(sim.runnable, sim.processes...)
	if err := sim.play(ctx); err != nil {
		return Result{}, err
	}
	return sim.result(model.Name())
}

// checkMemory refuses messages within a node whose memory bandwidth is unknown.
func (s *simulation) checkMemory() error {
	if s.scenario.Cluster.MemoryBandwidth > 0 {
		return nil
	}
	for _, p := range s.processes {
		for _, e := range p.task.Events {
			if e.Send != nil && s.processes[s.first[p.application]+*e.Send.To].node == p.node {
				return fmt.Errorf("application %q: tasks %d and %d share node %d and exchange messages: give cluster.memoryBandwidth",
					s.scenario.Applications[p.application].Name, p.number, *e.Send.To, p.node)
			}
		}
	}
	return nil
}

// play advances from the end of one event to the next.
func (s *simulation) play(ctx context.Context) error {
	for steps := 0; ; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for len(s.runnable) > 0 {
			p := s.runnable[len(s.runnable)-1]
			s.runnable = s.runnable[:len(s.runnable)-1]
			s.advance(p)
		}
		if err := s.wire.share(s.now); err != nil {
			return fmt.Errorf("after %.6g s: %w", s.now, err)
		}
		next := s.wire.next()
		if len(s.computing) > 0 {
			next = math.Min(next, s.computing[0].busyUntil)
		}
		if math.IsInf(next, 1) {
			return nil
		}
		s.now = next
		for len(s.computing) > 0 && s.computing[0].busyUntil <= s.now {
			p := heap.Pop(&s.computing).(*process) //nolint:errcheck // holds nothing else
			p.result.ComputeSeconds += s.now - p.since
			s.recorder.span(p, Computing, s.now)
			s.step(p)
		}
		for _, f := range s.wire.ended(s.now) {
			s.arrive(f.message)
		}
	}
}

// advance starts events of a task until one takes time.
func (s *simulation) advance(p *process) {
	for !p.ended && !p.waits {
		if p.event == len(p.task.Events) {
			p.event = 0
			if p.round++; p.round >= max(1, p.task.Repeat) || len(p.task.Events) == 0 {
				p.ended = true
				p.result.TotalSeconds = s.now
				return
			}
		}
		p.since = s.now
		switch e := p.task.Events[p.event]; {
		case e.Compute != nil:
			p.busyUntil = s.now + time.Duration(*e.Compute).Seconds()
			p.waits = true
			heap.Push(&s.computing, p)
		case e.Send != nil:
			s.send(p, *e.Send)
		default:
			s.receive(p, e.Receive.From)
		}
	}
}

// step ends the event of a task, which goes on.
func (s *simulation) step(p *process) {
	if p.waits {
		p.waits = false
		s.runnable = append(s.runnable, p)
	}
	p.event++
}

func (s *simulation) send(p *process, e Send) {
	to := s.processes[s.first[p.application]+*e.To]
	m := &message{from: p, to: to, bytes: float64(*e.Bytes), eager: *e.Bytes <= s.scenario.Cluster.Buffer && s.scenario.Cluster.Buffer > 0}
	p.result.BytesSent += int64(*e.Bytes)
	if m.eager {
		s.start(m)
		p.event++
	} else {
		p.waits = true
	}
	if to.waits && !to.ended && to.receiving(p) && to.awaits == nil {
		s.match(to, m)
		return
	}
	to.inbox = append(to.inbox, m)
}

func (s *simulation) receive(p *process, from *int) {
	p.waits = true
	for i, m := range p.inbox {
		if from == nil || m.from.number == *from {
			p.inbox = append(p.inbox[:i], p.inbox[i+1:]...)
			s.match(p, m)
			return
		}
	}
}

// receiving reports whether p waits for a message that from may send.
func (p *process) receiving(from *process) bool {
	if p.event >= len(p.task.Events) {
		return false
	}
	r := p.task.Events[p.event].Receive
	return r != nil && (r.From == nil || *r.From == from.number)
}

// match matches a message with the receive that waits for it.
func (s *simulation) match(p *process, m *message) {
	m.matched, p.awaits = true, m
	switch {
	case m.arrived:
		s.deliver(m)
	case m.flow == nil:
		s.start(m)
	}
}

// start begins the transmission of a message.
func (s *simulation) start(m *message) {
	p := m.from
	if m.from.node == m.to.node {
		p.result.Local++
	} else {
		p.result.Sent++
	}
	m.flow = s.wire.start(s.now, m)
}

// arrive handles the last byte of a message.
func (s *simulation) arrive(m *message) {
	m.arrived = true
	p, f := m.from, m.flow
	s.recorder.transfer(m, s.now)
	if m.from.node != m.to.node {
		penalty := f.penalty(s.now)
		p.sum += penalty
		p.result.MaxPenalty = math.Max(p.result.MaxPenalty, penalty)
		f.conflicts.count(&p.result.Conflicts)
	}
	if !m.eager {
		s.recorder.span(p, Sending, s.now)
		p.result.CommunicationSeconds += s.now - p.since
		s.step(p)
	}
	if m.matched {
		s.deliver(m)
	}
}

// deliver ends the receive of a message.
func (s *simulation) deliver(m *message) {
	p := m.to
	p.awaits = nil
	s.recorder.span(p, Receiving, s.now)
	p.result.BytesReceived += int64(m.bytes)
	p.result.CommunicationSeconds += s.now - p.since
	s.step(p)
}

func (s *simulation) result(model string) (Result, error) {
	r := Result{Model: model, Tasks: make([]TaskResult, 0, len(s.processes))}
	deadlock := &Deadlock{Seconds: s.now}
	for _, p := range s.processes {
		if !p.ended {
			deadlock.add(s, p)
		}
		p.result.Application = s.scenario.Applications[p.application].Name
		p.result.Task, p.result.Node = p.number, p.node
		if p.result.Sent > 0 {
			p.result.MeanPenalty = p.sum / float64(p.result.Sent)
		}
		r.TotalSeconds = math.Max(r.TotalSeconds, p.result.TotalSeconds)
		r.Tasks = append(r.Tasks, p.result)
	}
	if deadlock.Tasks > 0 {
		return Result{}, deadlock
	}
	return r, nil
}

// named bounds the tasks that a Deadlock names.
const named = 5

func (d *Deadlock) add(s *simulation, p *process) {
	if d.Tasks++; d.Tasks > named {
		return
	}
	e := p.task.Events[p.event]
	application := s.scenario.Applications[p.application].Name
	at := fmt.Sprintf("application %q, task %d, event %d ", application, p.number, p.event)
	if p.task.Repeat > 1 {
		at += fmt.Sprintf("(round %d) ", p.round+1)
	}
	other := func(number int) string {
		if s.processes[s.first[p.application]+number].ended {
			return "which has ended"
		}
		return "which waits itself"
	}
	switch {
	case e.Send != nil:
		at += fmt.Sprintf("sends to task %d, %s: no task receives it", *e.Send.To, other(*e.Send.To))
	case e.Receive.From != nil:
		at += fmt.Sprintf("receives from task %d, %s: no task sends it", *e.Receive.From, other(*e.Receive.From))
	default:
		at += "receives from anyone: no task sends it"
	}
	d.Waiting = append(d.Waiting, at)
}

// computing is a heap of tasks by the end of their computation.
type computing []*process

func (c computing) Len() int           { return len(c) }
func (c computing) Less(i, j int) bool { return c[i].busyUntil < c[j].busyUntil }
func (c computing) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *computing) Push(x any)        { *c = append(*c, x.(*process)) } //nolint:errcheck // holds nothing else
func (c *computing) Pop() any {
	old := *c
	p := old[len(old)-1]
	*c = old[:len(old)-1]
	return p
}
