package schedplugin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A placement is explained without further ado, in the order of arrival; pods that
// are gone before their turn are not.
func TestAnnouncer(t *testing.T) {
	explained := make(chan *placement, 3)
	a := newAnnouncer(func(_ context.Context, p *placement) { explained <- p }, func() { t.Error("dropped") })
	first, gone, last := &placement{}, &placement{}, &placement{}
	a.add("first", first)
	a.add("gone", gone)
	a.add("last", last)
	a.forget("gone")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		a.run(ctx)
		close(ended)
	}()
	for _, want := range []*placement{first, last} {
		select {
		case got := <-explained:
			if got != want {
				t.Error("another placement is explained")
			}
		case <-time.After(30 * time.Second):
			t.Fatal("nothing is explained")
		}
	}
	stop()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
}

// While pods come by explanations keep their distance; when none does, they follow
// each other as soon as they may.
func TestAnnouncerRests(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		busy    bool
		waiting int
		want    time.Duration
	}{
		"idle":               {false, 0, restIdle},
		"idle after a burst": {false, manyWaiting, restIdle},
		"busy":               {true, manyWaiting - 1, restBusy},
		"burst":              {true, manyWaiting, restBurst},
	} {
		a := newAnnouncer(nil, nil)
		for i := range test.waiting {
			a.add(types.UID(fmt.Sprint(i)), nil)
		}
		now := start
		// The clock stands for the ticks of the ticker, one for each reading but the first.
		a.now = func() time.Time {
			if test.busy {
				a.touch(now)
			}
			defer func() { now = now.Add(restIdle) }()
			return now
		}
		if !a.rest(t.Context()) {
			t.Errorf("%s: interrupted", name)
		}
		if rested := now.Sub(start) - restIdle; rested != test.want {
			t.Errorf("%s: rested for %v, want %v", name, rested, test.want)
		}
	}
}

// What is one too many is counted and leaves nothing behind.
func TestAnnouncerIsBounded(t *testing.T) {
	dropped := 0
	a := newAnnouncer(nil, func() { dropped++ })
	for i := range mostWaiting + 3 {
		a.add(types.UID(fmt.Sprint(i)), nil)
	}
	left := 0
	a.waiting.Range(func(any, any) bool { left++; return true })
	if dropped != 3 || left != mostWaiting {
		t.Errorf("%d dropped, %d wait", dropped, left)
	}
}
