package collective

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"bandmate.dev/bandmate/capability"
)

// parameters make optimal trees of several children and levels.
func parameters(coresPerTile int) capability.Parameters {
	return capability.Parameters{
		Local: 4, Remote: 120, Memory: 140, Tile: 34, CoresPerTile: coresPerTile,
		Contention: &capability.Line{Base: 200, Each: 34},
	}
}

func laidOutTree(t testing.TB, threads, coresPerTile int, shape capability.Shape) capability.Tree {
	t.Helper()
	made, err := capability.NewTree(parameters(coresPerTile), capability.Broadcast, threads, shape)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// threadCounts reach past every power of two up to 16.
func threadCounts() []int { return []int{1, 2, 3, 5, 8, 9, 17} }

// together runs a function in so many goroutines.
func together(threads int, run func(thread int)) {
	var done sync.WaitGroup
	for thread := range threads {
		done.Go(func() { run(thread) })
	}
	done.Wait()
}

func barriers(t testing.TB, threads int) map[string]func(thread int) {
	t.Helper()
	all := map[string]func(int){"central": newCentral(threads).wait, "locked": newLocked(threads).wait}
	for _, partners := range []int{1, 2, 3, threads - 1} {
		if partners < min(1, threads-1) || partners > threads-1 {
			continue
		}
		laidOut, err := capability.BarrierWith(parameters(1), threads, partners)
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprint("dissemination, partners: ", partners)] = newDissemination(laidOut).wait
	}
	for _, shape := range capability.Shapes() {
		all[string(shape)+" tree"] = newTree(laidOutTree(t, threads, 2, shape)).wait
	}
	return all
}

// calls are enough for a fast thread to run into a slow one.
const calls = 8

// Nobody passes before everybody has come, call after call.
func TestBarriersHold(t *testing.T) {
	for _, threads := range threadCounts() {
		for name, wait := range barriers(t, threads) {
			t.Run(fmt.Sprintf("%d/%s", threads, name), func(t *testing.T) {
				var arrived atomic.Int64
				plain := make([]int, threads) // written before, read after: the race detector watches
				together(threads, func(thread int) {
					for call := 1; call <= calls; call++ {
						plain[thread] = call
						arrived.Add(1)
						wait(thread)
						if got := arrived.Load(); got < int64(call*threads) {
							t.Errorf("thread %d passes call %d after %d arrivals", thread, call, got)
						}
						if other := plain[(thread+1)%threads]; other != call {
							t.Errorf("thread %d, call %d: its neighbor is at %d", thread, call, other)
						}
						wait(thread) // before anybody writes again
						arrived.Add(-1)
						wait(thread)
						arrived.Add(1)
						wait(thread)
					}
				})
			})
		}
	}
}

func lineOf(call int) (l line) {
	for i := range l {
		l[i] = uint64(call*100 + i)
	}
	return l
}

// operations are the ways to do an operation, by name.
func operations(t testing.TB, threads int, withLock func(*locked, int, line) line, along func(*tree, int, line) line) map[string]func(int, line) line {
	t.Helper()
	all := map[string]func(int, line) line{}
	l := newLocked(threads)
	all["locked"] = func(thread int, given line) line { return withLock(l, thread, given) }
	for _, shape := range capability.Shapes() {
		for _, perTile := range []int{1, 4} {
			made := newTree(laidOutTree(t, threads, perTile, shape))
			all[fmt.Sprintf("%s tree, %d a tile", shape, perTile)] = func(thread int, given line) line { return along(made, thread, given) }
		}
	}
	return all
}

// Every thread gets the line of thread 0, of the same call.
func TestBroadcastsReachEverybody(t *testing.T) {
	for _, threads := range threadCounts() {
		all := operations(t, threads, (*locked).broadcast, (*tree).broadcast)
		for name, do := range all {
			t.Run(fmt.Sprintf("%d/%s", threads, name), func(t *testing.T) {
				together(threads, func(thread int) {
					for call := range calls {
						mine := line{}
						if thread == 0 {
							mine = lineOf(call)
						}
						if got := do(thread, mine); got != lineOf(call) {
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
		all := operations(t, threads, (*locked).reduce, (*tree).reduce)
		for name, do := range all {
			t.Run(fmt.Sprintf("%d/%s", threads, name), func(t *testing.T) {
				together(threads, func(thread int) {
					for call := range calls {
						got := do(thread, line{uint64(thread + 1), uint64(call)})
						want := line{uint64(threads * (threads + 1) / 2), uint64(threads * call)}
						if thread == 0 && got != want {
							t.Errorf("call %d: got %v, want %v", call, got, want)
						}
					}
				})
			})
		}
	}
}
