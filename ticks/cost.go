package ticks

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CallCost returns what a counted call costs the program that makes it: about a
// microsecond on most machines, and over ten in virtual machines whose traps are
// slow. It calls a function of this process some hundred times.
func CallCost() (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	offset, err := ownOffset(reflect.ValueOf(called).Pointer())
	if err != nil {
		return 0, err
	}
	u, err := newUprobe("/proc/self/exe", offset)
	if err != nil {
		return 0, err
	}
	event, err := u.openThread(unix.Gettid())
	if err != nil {
		return 0, errors.Join(explainUprobe(err), u.close())
	}
	// The kernel takes long to remove it, and nothing is called meanwhile.
	defer func() { go func() { _, _ = event.Close(), u.close() }() }()
	const calls, rounds = 40, 5
	least := time.Duration(0)
	for range rounds {
		begin := time.Now()
		for n := range calls {
			runtime.KeepAlive(called(n))
		}
		if spent := time.Since(begin) / calls; least == 0 || spent < least {
			least = spent
		}
	}
	n, err := readEvent(event)
	if err != nil {
		return 0, fmt.Errorf("reading a uprobe: %w", err)
	}
	if n != calls*rounds {
		return 0, fmt.Errorf("a uprobe counted %v of %d calls", n, calls*rounds)
	}
	return least, nil
}

//go:noinline
func called(n int) int { return n + 1 }

// ownOffset returns where code of this process lies in its executable.
func ownOffset(address uintptr) (uint64, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		first, last, _ := strings.Cut(fields[0], "-")
		from, errFrom := strconv.ParseUint(first, 16, 64)
		to, errTo := strconv.ParseUint(last, 16, 64)
		offset, errOffset := strconv.ParseUint(fields[2], 16, 64)
		if errFrom == nil && errTo == nil && errOffset == nil && uint64(address) >= from && uint64(address) < to {
			return uint64(address) - from + offset, nil
		}
	}
	return 0, fmt.Errorf("no code at %#x", address)
}
