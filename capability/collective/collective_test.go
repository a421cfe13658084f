package collective_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/collective"
)

// parameters make optimal trees of several children and levels.
func parameters(coresPerTile int) capability.Parameters {
	return capability.Parameters{
		Local: 4, Remote: 120, Memory: 140, Tile: 34, CoresPerTile: coresPerTile,
		Contention: &capability.Line{Base: 200, Each: 34},
	}
}

func tree(t testing.TB, threads, coresPerTile int, shape capability.Shape) capability.Tree {
	t.Helper()
	made, err := capability.NewTree(parameters(coresPerTile), capability.Broadcast, threads, shape)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func must[T any](t testing.TB, made T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// threadCounts reach past every power of two up to 32.
func threadCounts() []int { return []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33} }

// together runs a function in so many goroutines.
func together(threads int, run func(thread int)) {
	var done sync.WaitGroup
	for thread := range threads {
		done.Go(func() { run(thread) })
	}
	done.Wait()
}

func barriers(t testing.TB, threads int) map[string]collective.Barrier {
	t.Helper()
	all := map[string]collective.Barrier{}
	add := func(name string, b collective.Barrier, err error) { all[name] = must(t, b, err) }
	central, err := collective.NewCentral(threads)
	add("central", central, err)
	cond, err := collective.NewCond(threads)
	add("cond", cond, err)
	for _, partners := range []int{1, 2, 3, threads - 1} {
		if partners < min(1, threads-1) || partners > threads-1 {
			continue
		}
		laidOut, err := capability.BarrierWith(parameters(1), threads, partners)
		d, madeErr := collective.NewDissemination(must(t, laidOut, err))
		add(fmt.Sprint("dissemination, partners: ", partners), d, madeErr)
	}
	for _, shape := range capability.Shapes() {
		b, err := collective.NewTreeBarrier(tree(t, threads, 2, shape))
		add(string(shape)+" tree", b, err)
	}
	return all
}

// calls are enough for a fast thread to run into a slow one.
const calls = 8

// Nobody passes before everybody has come, call after call.
func TestBarriersHold(t *testing.T) {
	for _, threads := range threadCounts() {
		for name, b := range barriers(t, threads) {
			t.Run(fmt.Sprintf("%d/%s", threads, name), func(t *testing.T) {
				var arrived atomic.Int64
				plain := make([]int, threads) // written before, read after: the race detector watches
				together(threads, func(thread int) {
					for call := 1; call <= calls; call++ {
						plain[thread] = call
						arrived.Add(1)
						b.Wait(thread)
						if got := arrived.Load(); got < int64(call*threads) {
							t.Errorf("thread %d passes call %d after %d arrivals", thread, call, got)
						}
						if other := plain[(thread+1)%threads]; other != call {
							t.Errorf("thread %d, call %d: its neighbor is at %d", thread, call, other)
						}
						b.Wait(thread) // before anybody writes again
						arrived.Add(-1)
						b.Wait(thread)
						arrived.Add(1)
						b.Wait(thread)
					}
				})
			})
		}
	}
}

func lineOf(call int) (l collective.Line) {
	for i := range l {
		l[i] = uint64(call*100 + i)
	}
	return l
}

// Every thread gets the line of thread 0, of the same call.
func TestBroadcastsReachEverybody(t *testing.T) {
	for _, threads := range threadCounts() {
		all := map[string]collective.Broadcast{}
		locked, err := collective.NewLockedBroadcast(threads)
		all["locked"] = must(t, locked, err)
		for _, shape := range capability.Shapes() {
			for _, perTile := range []int{1, 4} {
				b, err := collective.NewTreeBroadcast(tree(t, threads, perTile, shape))
				all[fmt.Sprintf("%s tree, %d a tile", shape, perTile)] = must(t, b, err)
			}
		}
		for name, b := range all {
			t.Run(fmt.Sprintf("%d/%s", threads, name), func(t *testing.T) {
				together(threads, func(thread int) {
					for call := range calls {
						mine := collective.Line{}
						if thread == 0 {
							mine = lineOf(call)
						}
						if got := b.Do(thread, mine); got != lineOf(call) {
							t.Errorf("thread %d, call %d: got %v", thread, call, got)
						}
					}
				})
			})
		}
	}
}

// Thread 0 gets the sum over all threads, of the same call.
func TestReductionsAddUp(t *testing.T) {
	for _, threads := range threadCounts() {
		all := map[string]collective.Reduce{}
		locked, err := collective.NewLockedReduce(threads)
		all["locked"] = must(t, locked, err)
		for _, shape := range capability.Shapes() {
			for _, perTile := range []int{1, 4} {
				r, err := collective.NewTreeReduce(tree(t, threads, perTile, shape))
				all[fmt.Sprintf("%s tree, %d a tile", shape, perTile)] = must(t, r, err)
			}
		}
		for name, r := range all {
			t.Run(fmt.Sprintf("%d/%s", threads, name), func(t *testing.T) {
				together(threads, func(thread int) {
					for call := range calls {
						got := r.Do(thread, collective.Line{uint64(thread + 1), uint64(call)})
						want := collective.Line{uint64(threads * (threads + 1) / 2), uint64(threads * call)}
						if thread == 0 && got != want {
							t.Errorf("call %d: got %v, want %v", call, got, want)
						}
					}
				})
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	node := func(threads ...int) *capability.Node { return &capability.Node{Threads: threads} }
	for want, tr := range map[string]capability.Tree{
		"0 threads":                {},
		"a tile without threads":   {Threads: 1, Root: node()},
		"a tile without a node":    {Threads: 1},
		"thread 2: want each of":   {Threads: 2, Root: node(0, 2)},
		"thread 1: want each of":   {Threads: 3, Root: node(0, 1, 1)},
		"thread 0: want each of":   {Threads: 2, Root: node(1, 0)},
		"it holds 1, want all":     {Threads: 2, Root: node(0)},
		"thread -1: want each of":  {Threads: 2, Root: node(0, -1)},
		"5000 threads: want 1 to ": {Threads: 5000},
	} {
		_, barrierErr := collective.NewTreeBarrier(tr)
		_, broadcastErr := collective.NewTreeBroadcast(tr)
		_, reduceErr := collective.NewTreeReduce(tr)
		want = strings.Replace(want, "without a node", "without threads", 1)
		for _, err := range []error{barrierErr, broadcastErr, reduceErr} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", tr, err, want)
			}
		}
	}
	_, centralErr := collective.NewCentral(0)
	_, condErr := collective.NewCond(-1)
	_, disseminationErr := collective.NewDissemination(capability.Barrier{})
	_, broadcastErr := collective.NewLockedBroadcast(0)
	_, reduceErr := collective.NewLockedReduce(collective.MaxThreads + 1)
	for _, err := range []error{centralErr, condErr, disseminationErr, broadcastErr, reduceErr} {
		if err == nil || !strings.Contains(err.Error(), "threads: want 1 to 4096") {
			t.Error(err)
		}
	}
}
