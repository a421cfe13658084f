package profiler

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestLaunchHook(t *testing.T) {
	release, err := BeforeLaunch(t.Context())
	if err != nil || release() != nil {
		t.Fatalf("without a hook: %v", err)
	}
	var calls []string
	ctx := WithLaunchHook(t.Context(), func() (func() error, error) {
		calls = append(calls, "prepare")
		return func() error { calls = append(calls, "release"); return nil }, nil
	})
	w := Workload{Run: func(ctx context.Context) error {
		release, err := BeforeLaunch(ctx)
		if err != nil {
			return err
		}
		calls = append(calls, "start")
		return release()
	}}
	if err := w.Wait(ctx); err != nil || strings.Join(calls, " ") != "prepare start release" {
		t.Errorf("%q, %v", calls, err)
	}
	refused := errors.New("no group")
	ctx = WithLaunchHook(t.Context(), func() (func() error, error) { return nil, refused })
	if err := w.Wait(ctx); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
}

func TestScopesExplainThemselves(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []Scope{ScopeMachine, ScopeCores, ScopeCommand} {
		text := s.Explain()
		if text == "" || seen[text] || !strings.Contains(text, "DMA") {
			t.Errorf("%s: %q", s, text)
		}
		seen[text] = true
	}
	if Scope("").Explain() != "" {
		t.Error("no scope explains itself")
	}
}

// TestCountersInJSON: what is unknown is absent, and sources without counters
// have none of it.
func TestCountersInJSON(t *testing.T) {
	plain, err := json.Marshal(Summary{Source: ProbeName})
	if err != nil || strings.Contains(string(plain), "scope") || strings.Contains(string(plain), "counters") {
		t.Errorf("%s, %v", plain, err)
	}
	counted, err := json.Marshal(Summary{Scope: ScopeMachine, Counters: &Counters{Channels: []ChannelTraffic{{Name: "a"}}, LeastRunningShare: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"scope":"machine"`, `"name":"a"`, `"leastRunningShare":1`} {
		if !strings.Contains(string(counted), want) {
			t.Errorf("%s lacks %s", counted, want)
		}
	}
	for _, unknown := range []string{"node\"", "socket\"", "background", "theoreticalPeak", "relativeSpread"} {
		if strings.Contains(string(counted), unknown) {
			t.Errorf("%s holds %s", counted, unknown)
		}
	}
}
