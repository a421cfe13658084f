package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A collection of garbage takes the scheduler as long as some hundred pods, and a batch
// sees a few of them: whether there is one more or less would decide about the batch. So
// every batch begins just after a collection, and at its end is charged with the part of
// the next one that it has brought about.

// collectGarbage has a scheduler collect its garbage, and returns the CPU time that it
// took.
func (b *bench) collectGarbage(ctx context.Context, scheduler string) (seconds float64, err error) {
	before, err := now(b.cluster)
	if err != nil {
		return 0, err
	}
	if _, err := ask(ctx, b.cluster.Server(scheduler)+"/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	after, err := now(b.cluster)
	return after.since(before).scheduler[scheduler], err
}

// garbageDue returns which part of what a scheduler may allocate between two collections
// it has allocated since the last.
func (b *bench) garbageDue(ctx context.Context, scheduler string) (part float64, err error) {
	text, err := ask(ctx, b.cluster.Server(scheduler)+"/metrics")
	if err != nil {
		return 0, err
	}
	var faults []error
	value := func(name string) float64 {
		v, err := sample(text, name)
		faults = append(faults, err)
		return v
	}
	live, goal, used := value("go_gc_heap_live_bytes"), value("go_gc_heap_goal_bytes"), value("go_memory_classes_heap_objects_bytes")
	if err := errors.Join(faults...); err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", scheduler, err)
	}
	return min(max((used-live)/(goal-live), 0), 1), nil
}

// ask returns what a server of the cluster answers.
func ask(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test server on loopback
	}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return "", errors.Join(fmt.Errorf("%s: %s", address, answer.Status), err)
	}
	return string(text), nil
}
