package doctor

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHost(t *testing.T) {
	env, err := Host()
	if err != nil {
		t.Fatal(err)
	}
	env.Pause = 0
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	r := Examine(t.Context(), env)
	if r.Measurable != (allowed.Size() >= 2) {
		t.Errorf("measurable: %v with CPUs %s: %+v", r.Measurable, allowed, r.Findings)
	}
	if f, _ := finding(r, "noise"); f.State != OK && f.State != Limited {
		t.Errorf("noise: %+v", f)
	}
	if after, err := topology.AllowedCPUs(); err != nil || !after.Equals(allowed) {
		t.Errorf("affinity %s became %s: %v", allowed, after, err)
	}
}

func TestWatch(t *testing.T) {
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	cpu := allowed.List()[0]
	seen, err := watch(t.Context(), cpu, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if seen.Window < 20*time.Millisecond || seen.Longest > seen.Total || seen.Total > seen.Window {
		t.Errorf("inconsistent: %+v", seen)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := watch(canceled, cpu, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if _, err := watch(t.Context(), 8191, time.Hour); !errors.Is(err, topology.ErrOffline) {
		t.Errorf("error %v, want offline", err)
	}
}

func TestBindMemory(t *testing.T) {
	const highest = 1 << 14 // more nodes than kernels number
	err := bindMemory(highest)
	if errors.Is(err, unix.ENOSYS) {
		requires.Unmet(t, "memory cannot be bound here: %v", err)
	}
	if !errors.Is(err, memory.ErrNode) && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, want %v", err, memory.ErrNode)
	}
}
