package simulate

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/network"
)

// The spans of a task are all of its time, one after the other; tracing changes
// nothing else.
func TestTraceAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		s.Model.Name = rapid.SampledFrom([]string{network.NameGigabitEthernet, network.NameMyrinet}).Draw(t, "model")
		plain, err := run(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		traced, trace, err := Run(context.Background(), s, 1000)
		if err != nil || trace.Left || traced.TotalSeconds != plain.TotalSeconds {
			t.Fatalf("%v s, traced %v s, %v", plain.TotalSeconds, traced.TotalSeconds, err)
		}
		ends, computed, communicated := make([]float64, len(plain.Tasks)), make([]float64, len(plain.Tasks)), make([]float64, len(plain.Tasks))
		for _, span := range trace.Spans {
			if span.Start < ends[span.Task]-1e-12 {
				t.Fatalf("task %d: %+v begins before %v", span.Task, span, ends[span.Task])
			}
			ends[span.Task] = span.Ended
			if span.Kind == Computing {
				computed[span.Task] += span.Ended - span.Start
			} else {
				communicated[span.Task] += span.Ended - span.Start
			}
		}
		for i, task := range plain.Tasks {
			if math.Abs(computed[i]-task.ComputeSeconds) > 1e-9 || math.Abs(communicated[i]-task.CommunicationSeconds) > 1e-9 {
				t.Fatalf("task %d: %v and %v of %+v", i, computed[i], communicated[i], task)
			}
		}
		sent, worst := make([]int, len(plain.Tasks)), make([]float64, len(plain.Tasks))
		for _, m := range trace.Transfers {
			if m.Ended < m.Start {
				t.Fatalf("%+v", m)
			}
			sent[m.From]++
			worst[m.From] = max(worst[m.From], m.Penalty)
		}
		for i, task := range plain.Tasks {
			if sent[i] != task.Sent+task.Local || worst[i] != task.MaxPenalty {
				t.Fatalf("task %d: %d messages, worst penalty %v, of %+v", i, sent[i], worst[i], task)
			}
		}
		if n := len(trace.Spans); n > 1 {
			_, short, err := Run(context.Background(), s, n-1)
			if err != nil || !short.Left || len(short.Spans) != n-1 {
				t.Fatalf("%d of %d spans, left %v, %v", len(short.Spans), n, short.Left, err)
			}
		}
	})
}

func TestTraceRefused(t *testing.T) {
	if _, _, err := Run(t.Context(), Scenario{}, 1); err == nil {
		t.Error("an empty scenario is played")
	}
}
