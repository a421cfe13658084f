package simulate

// Kind is the kind of a span.
type Kind string

// The kinds of spans.
const (
	Computing Kind = "compute"
	// Sending lasts from the start of the event until the message has arrived,
	// waiting for the receiver included; a message that fits the buffer has
	// none.
	Sending   Kind = "send"
	Receiving Kind = "receive"
)

// Span is an event of a task that took time.
type Span struct {
	// Task is its place in Result.Tasks.
	Task         int
	Kind         Kind
	Start, Ended float64 // seconds
}

// Transfer is the transmission of a message.
type Transfer struct {
	// From and To are places in Result.Tasks.
	From, To int
	// Start is when its first byte left, after the latency, and Ended when the
	// last one arrived; in seconds.
	Start, Ended float64
	Bytes        int64
	// Penalty is the time ÷ the time alone; 0 for one within a node, which uses
	// no card.
	Penalty float64
}

// Trace is a record of events.
type Trace struct {
	// Spans and Transfers are ordered by their ends.
	Spans     []Span
	Transfers []Transfer
	// Left is true when there were more: the trace ends early.
	Left bool
}

// recorder fills a trace.
type recorder struct {
	most  int
	trace Trace
}

func (r *recorder) span(p *process, kind Kind, now float64) {
	if now <= p.since {
		return
	}
	if len(r.trace.Spans) == r.most {
		r.trace.Left = true
		return
	}
	r.trace.Spans = append(r.trace.Spans, Span{p.place, kind, p.since, now})
}

func (r *recorder) transfer(m *message, now float64) {
	if len(r.trace.Transfers) == r.most {
		r.trace.Left = true
		return
	}
	t := Transfer{From: m.from.place, To: m.to.place, Start: m.flow.began, Ended: max(now, m.flow.began), Bytes: int64(m.bytes)}
	if m.from.node != m.to.node {
		t.Penalty = m.flow.penalty(now)
	}
	r.trace.Transfers = append(r.trace.Transfers, t)
}
