package ticks

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// pollHeld starts a poller of a server that answers each request once it is released.
func pollHeld(t *testing.T, stopped *bool) (p *poller, arrived <-chan struct{}, release chan<- struct{}) {
	t.Helper()
	asked, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		select {
		case <-answer:
			fmt.Fprintln(w, "steps_total 7")
		case <-r.Context().Done():
		}
	}))
	p = newPoller(server.URL, selector{name: "steps_total"}, time.Second, func() bool { return *stopped })
	t.Cleanup(func() {
		close(p.done)
		if err := p.close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return p, asked, answer
}

// lookFor calls look as often as in a time.
func (p *poller) lookFor(d time.Duration) {
	for range int(d/family) + 1 {
		p.look()
	}
}

func TestPollerBesidePauses(t *testing.T) {
	stopped := false
	p, arrived, release := pollHeld(t, &stopped)
	polled := make(chan error, 1)
	poll := func() { polled <- p.poll(t.Context()) }

	// A minute's pause neither ends a request nor counts.
	go poll()
	<-arrived
	stopped = true
	p.lookFor(time.Minute)
	if _, err := p.read(); err != nil {
		t.Errorf("read during a pause: %v", err)
	}
	stopped = false
	release <- struct{}{}
	if err := <-polled; err != nil {
		t.Errorf("a request that spanned a pause: %v", err)
	}
	if len(p.recent) > 0 {
		t.Errorf("a request that spanned a pause counts: it took %v", p.recent)
	}
	if n, err := p.read(); n != 7 || err != nil {
		t.Errorf("after a pause: %v, %v", n, err)
	}

	// A program that runs has to answer.
	go poll()
	<-arrived
	p.lookFor(p.patience)
	if err := <-polled; err == nil {
		t.Error("a request that is not answered has not failed")
	}
	if _, err := p.read(); !errors.Is(err, ErrLost) {
		t.Errorf("no answer for %v: %v, want %v", p.patience, err, ErrLost)
	}
	if len(p.recent) > 0 {
		t.Errorf("a request that failed counts: it took %v", p.recent)
	}
}

func TestPollerRests(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		recent []time.Duration
		want   time.Duration
	}{
		{nil, pollEvery},
		{[]time.Duration{ms / 10}, pollEvery},
		{[]time.Duration{8 * ms, ms, 400 * ms}, 19 * ms},
		{[]time.Duration{400 * ms}, 250 * ms},
	} {
		p := newPoller("", selector{}, time.Second, nil)
		p.recent = test.recent
		if got := p.rest(); got != test.want {
			t.Errorf("requests of %v: a rest of %v, want %v", test.recent, got, test.want)
		}
	}
}
