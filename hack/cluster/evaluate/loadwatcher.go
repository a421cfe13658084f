package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// loadWatcher answers as load-watcher does (github.com/paypal/load-watcher), with
// a load made up for every node, so that Trimaran's plugins have something to
// compute with.
type loadWatcher struct {
	address string
	asked   atomic.Int64
	server  *http.Server
}

// load is one number of one node, in percent.
type load struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Operator string  `json:"operator"`
	Value    float64 `json:"value"`
}

type nodeLoads struct {
	Metrics []load `json:"metrics"`
}

// watchedLoads is the answer to GET /watcher.
type watchedLoads struct {
	Timestamp int64 `json:"timestamp"`
	Window    struct {
		Duration string `json:"duration"`
		Start    int64  `json:"start"`
		End      int64  `json:"end"`
	} `json:"window"`
	Source string `json:"source"`
	Data   struct {
		Nodes map[string]nodeLoads `json:"NodeMetricsMap"`
	} `json:"data"`
}

// startLoadWatcher serves the loads of nodes on a free port until stop.
func startLoadWatcher(ctx context.Context, nodes int) (*loadWatcher, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &loadWatcher{address: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /watcher", func(answer http.ResponseWriter, _ *http.Request) {
		w.asked.Add(1)
		answer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(answer).Encode(loadsOf(nodes, time.Now())); err != nil {
			return // the client is gone
		}
	})
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := w.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "evaluate: loads for Trimaran:", err)
		}
	}()
	return w, nil
}

func (w *loadWatcher) stop() error { return w.server.Close() }

// loadsOf makes loads up that differ from node to node.
func loadsOf(nodes int, at time.Time) watchedLoads {
	var a watchedLoads
	a.Timestamp, a.Source = at.Unix(), "Prometheus"
	a.Window.Duration, a.Window.Start, a.Window.End = "15m", at.Add(-15*time.Minute).Unix(), at.Unix()
	a.Data.Nodes = make(map[string]nodeLoads, nodes)
	for i := range nodes {
		a.Data.Nodes[nodeName(i)] = nodeLoads{Metrics: []load{
			{"cpu", "CPU", "AVG", 20 + float64(i*7%41)},
			{"cpu", "CPU", "STD", 1 + float64(i*3%13)},
			{"memory", "Memory", "AVG", 10 + float64(i*11%51)},
			{"memory", "Memory", "STD", 1 + float64(i*5%7)},
		}}
	}
	return a
}
