package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cluster"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

// TestDoorsOfServices asks predict, the server, what-if and explain about services under
// load: they name the same p99, and what-if refuses what predict does.
func TestDoorsOfServices(t *testing.T) {
	t.Parallel() // computes only
	store, err := filepath.Abs("../../docs/example/services")
	if err != nil {
		t.Fatal(err)
	}
	l := startServe(t, "--store", store)
	server := clustertest.New(t, clustertest.Applications, clustertest.Machines, clustertest.Nodes, clustertest.Pods, clustertest.Events)
	add := func(collection, format string, args ...any) {
		t.Helper()
		if err := server.Add(collection, fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	processtest.Bandmate(t, "apply", "--store", store, "--kubeconfig", server.Kubeconfig).WantExit(0)
	add(clustertest.Nodes, "{apiVersion: v1, kind: Node, metadata: {name: rack, labels: {bandmate.dev/machine: made-up}}}")
	add(clustertest.Pods, "{apiVersion: v1, kind: Pod, metadata: {name: triad, namespace: shop, uid: t, labels: {bandmate.dev/application: triad}}, spec: {nodeName: rack, containers: [{name: c}]}}")
	for _, load := range []string{"500", "5000", "7000", "9000", "12000"} {
		for _, limit := range []string{"1ms", "2ms", "1h"} {
			p := processtest.Bandmate(t, "predict", "redis", "triad", "--load", load, "--max-p99", limit, "-o", "json", "--store", store)
			said := p.Stdout.String()
			var predicted advisor.ServicePrediction
			if err := json.Unmarshal([]byte(said), &predicted); err != nil || predicted.Service == nil {
				t.Fatalf("%s at %s: %v: %s", limit, load, err, said)
			}
			kept := *predicted.Service.Kept
			p.WantExit(map[bool]int{true: 0, false: 5}[kept])
			values := url.Values{"target": {"redis"}, "corunner": {"triad"}, "load": {load}, "maxP99": {limit}}
			if status, body := l.ask("api/v1/predict?" + values.Encode()); status != 200 || body != said {
				t.Errorf("%s at %s: the server says %d %s, predict %s", limit, load, status, body, said)
			}
			w := processtest.Bandmate(t, "what-if", "redis", "--load", load, "--max-p99", limit, "-o", "json", "--kubeconfig", server.Kubeconfig)
			w.WantExit(map[bool]int{true: 0, false: 5}[kept])
			var asked cluster.WhatIfAnswer
			if err := json.Unmarshal([]byte(w.Stdout.String()), &asked); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("what-if at %s", load)
			sameScore(t, what, asked.Nodes[0].Slowdown, float64(predicted.Slowdown))
			if p99, want := asked.Nodes[0].Service.P99BesideSeconds, predicted.Service.P99BesideSeconds; (p99 == nil) != (want == nil) {
				t.Errorf("%s: p99 %v, predict says %v", what, p99, want)
			} else if p99 != nil {
				sameWithin(t, what+", p99", *p99, *want, 10*scoreAccuracy) // queues amplify
			}
		}
	}
	add(clustertest.Pods, `{apiVersion: v1, kind: Pod, metadata: {name: cache, namespace: shop, uid: r, labels: {bandmate.dev/application: redis}, annotations: {bandmate.dev/load: "5000", bandmate.dev/max-p99: 1ms}}, spec: {nodeName: rack, containers: [{name: c}]}}`)
	e := processtest.Bandmate(t, "explain", "cache", "-n", "shop", "--kubeconfig", server.Kubeconfig)
	e.WantExit(0)
	for _, want := range []string{"5000 requests per second, p99 at most 1.00 ms", "beyond a limit", "at 5000 requests per second"} {
		if !strings.Contains(e.Stdout.String(), want) {
			t.Errorf("explain: no %q in %s", want, e.Stdout.String())
		}
	}
	w := processtest.Bandmate(t, "what-if", "triad", "-o", "json", "--kubeconfig", server.Kubeconfig)
	w.WantExit(0) // it has no limit of its own
	var asked cluster.WhatIfAnswer
	if err := json.Unmarshal([]byte(w.Stdout.String()), &asked); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range asked.Nodes[0].Residents {
		found = found || r.Pod == "cache" && r.OverLimit && r.Limit == 0 && r.Service != nil && r.Service.MaxP99Seconds == 1e-3
	}
	if !found || !asked.Nodes[0].Rejected {
		t.Errorf("what-if of its neighbor: %s", w.Stdout.String())
	}
}
