package schedplugin

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Bounds of the announcer. An explanation takes up to some milliseconds, and its
// event costs the API server and etcd about as much as a binding.
const (
	// mostWaiting is how many placements may wait to be explained, each with its memory
	// domains of tens of kilobytes.
	mostWaiting = 512
	// quiet is how long the scheduler is without pods before it counts as idle.
	quiet = time.Second
	// restBurst, restBusy and restIdle are the shortest times between explanations: while
	// manyWaiting or more wait and the scheduler is busy, while it is busy, and while it
	// is idle.
	restBurst = 2 * time.Second
	restBusy  = 200 * time.Millisecond
	restIdle  = 10 * time.Millisecond
	// manyWaiting are so many that most wait until the scheduler is idle anyway.
	manyWaiting = 32
)

// announcer explains placements one after the other, outside scheduling cycles: at
// once where up to five pods come in a second, and one in two seconds during a burst. Of
// the others, up to mostWaiting follow when the scheduler is idle.
type announcer struct {
	queue   chan announcement
	waiting sync.Map     // of UID, the pods in the queue that still exist
	last    atomic.Int64 // when the last cycle began, in nanoseconds of Unix time
	explain func(context.Context, *placement)
	dropped func()
	now     func() time.Time
}

// announcement is a placement to explain.
type announcement struct {
	uid    types.UID
	placed *placement
}

// newAnnouncer returns an announcer whose run calls explain for what was added. It
// calls dropped instead for what exceeds the queue.
func newAnnouncer(explain func(context.Context, *placement), dropped func()) *announcer {
	return &announcer{queue: make(chan announcement, mostWaiting), explain: explain, dropped: dropped, now: time.Now}
}

// touch remembers that a cycle began.
func (a *announcer) touch(now time.Time) { a.last.Store(now.UnixNano()) }

// add queues a placement. It does not block.
func (a *announcer) add(uid types.UID, placed *placement) {
	a.waiting.Store(uid, nil)
	select {
	case a.queue <- announcement{uid, placed}:
	default:
		a.waiting.Delete(uid)
		a.dropped()
	}
}

// forget drops a pod that was deleted: its event would not be read.
func (a *announcer) forget(uid types.UID) { a.waiting.Delete(uid) }

// run explains until ctx ends.
func (a *announcer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-a.queue:
			if a.announce(ctx, next) && !a.rest(ctx) {
				return
			}
		}
	}
}

// announce explains a placement; false where the pod was deleted.
func (a *announcer) announce(ctx context.Context, next announcement) bool {
	if _, exists := a.waiting.LoadAndDelete(next.uid); !exists {
		return false
	}
	a.explain(ctx, next.placed)
	return true
}

// rest waits until the next explanation may follow; false when ctx ends.
func (a *announcer) rest(ctx context.Context) bool {
	ticker := time.NewTicker(restIdle)
	defer ticker.Stop()
	for start := a.now(); ; {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		now, rest := a.now(), restBusy
		if len(a.queue) >= manyWaiting {
			rest = restBurst
		}
		if now.Sub(start) >= rest || now.Sub(time.Unix(0, a.last.Load())) >= quiet {
			return true
		}
	}
}
