package interferer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

func TestOptionsValidateReportsEveryFault(t *testing.T) {
	node := -1
	o := Options{
		CPUs:                cpuset.New(1, topology.MaxCPUs),
		MemoryNode:          &node,
		LastLevelCacheBytes: -1,
		BufferBytes:         -2,
		MemoryCap:           -3,
		MaxDuration:         -time.Second,
	}
	err := o.Validate()
	if err == nil {
		t.Fatal("no fault reported")
	}
	for _, want := range []string{"CPU 8192", "memory node -1", "cache of -1", "buffers of -2", "cap of -3", "duration -1s"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	if err := (Options{}).Validate(); err == nil || !strings.Contains(err.Error(), "none given") {
		t.Errorf("no CPUs: %v", err)
	}
	if err := (Options{CPUs: cpuset.New(0)}).Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
}

func TestPartBytes(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want int64
	}{
		{"unknown cache", Options{CPUs: cpuset.New(0)}, 256 << 20},
		{"eight times the cache", Options{CPUs: cpuset.New(0), LastLevelCacheBytes: 1 << 20}, 8 << 20},
		{"an even part for each thread", Options{CPUs: cpuset.New(0, 1), LastLevelCacheBytes: 1 << 20}, 4 << 20},
		{"rounded up to a chunk", Options{CPUs: cpuset.New(0, 1, 2), LastLevelCacheBytes: 1 << 20}, 43 * 64 << 10},
		{"chosen", Options{CPUs: cpuset.New(0), LastLevelCacheBytes: 1 << 30, BufferBytes: 1 << 20}, 1 << 20},
		{"one chunk at least", Options{CPUs: cpuset.New(0, 1), BufferBytes: 1}, 64 << 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.o.partBytes(); got != test.want {
				t.Errorf("%d bytes per thread, want %d", got, test.want)
			}
		})
	}
}

func TestAdmit(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name      string
		o         Options
		allowed   cpuset.CPUSet
		available int64
		want      []string
		memory    bool
	}{
		{"fits", Options{CPUs: cpuset.New(1), BufferBytes: 16 * mib}, cpuset.New(0, 1), 64 * mib, nil, false},
		{"every CPU", Options{CPUs: cpuset.New(0, 1), BufferBytes: mib}, cpuset.New(0, 1), 64 * mib, []string{"0-1", "leave one"}, false},
		{"every CPU and more", Options{CPUs: cpuset.New(0, 1, 2), BufferBytes: mib}, cpuset.New(1), 64 * mib, []string{"leave one"}, false},
		{"every CPU, allowed", Options{CPUs: cpuset.New(0, 1), BufferBytes: mib, AllowAllCPUs: true}, cpuset.New(0, 1), 64 * mib, nil, false},
		{"more than a quarter", Options{CPUs: cpuset.New(1), BufferBytes: 17 * mib}, cpuset.New(0, 1), 64 * mib, []string{"17 MiB", "64 MiB", "(16 MiB)"}, true},
		{"nothing available", Options{CPUs: cpuset.New(1), BufferBytes: mib}, cpuset.New(0, 1), 0, []string{"1 MiB"}, true},
		{"cap above a quarter", Options{CPUs: cpuset.New(1), BufferBytes: 32 * mib, MemoryCap: 32 * mib}, cpuset.New(0, 1), 64 * mib, nil, false},
		{"above the cap", Options{CPUs: cpuset.New(1), BufferBytes: 33 * mib, MemoryCap: 32 * mib}, cpuset.New(0, 1), 640 * mib, []string{"memory cap (32 MiB)"}, true},
		{"unknown memory", Options{CPUs: cpuset.New(1), BufferBytes: 1 << 40}, cpuset.New(0, 1), -1, nil, false},
		{"both at once", Options{CPUs: cpuset.New(0), BufferBytes: 1 << 40}, cpuset.New(0), 64 * mib, []string{"leave one", "smaller buffers"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.o.admit(test.allowed, test.available)
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if errors.Is(err, ErrMemory) != test.memory {
				t.Errorf("ErrMemory: %v, want %v", !test.memory, test.memory)
			}
		})
	}
}

// Where memory is short the buffers are smaller, down to the size of the cache.
func TestFitted(t *testing.T) {
	const mib = 1 << 20
	caches := func(n int64) Options { return Options{CPUs: cpuset.New(1), LastLevelCacheBytes: n * mib} }
	capped := caches(32)
	capped.MemoryCap = 100 * mib
	given := caches(32)
	given.BufferBytes = 300 * mib
	for _, test := range []struct {
		name      string
		o         Options
		available int64
		want      int64
		warns     bool
	}{
		{"enough", caches(32), 1024 * mib, 256 * mib, false},
		{"a little less", caches(32), 1000 * mib, 250 * mib, false},
		{"few caches", caches(32), 400 * mib, 100 * mib, true},
		{"one cache", caches(32), 128 * mib, 32 * mib, true},
		{"too little, which is refused", caches(32), 124 * mib, 32 * mib, false},
		{"unknown", caches(32), -1, 256 * mib, false},
		{"nothing", caches(32), 0, 256 * mib, false},
		{"a cap", capped, 64 << 30, 100 * mib, true},
		{"a size, which is refused", given, 1024 * mib, 300 * mib, false},
	} {
		fitted, warning := test.o.fitted(test.available)
		if got := fitted.partBytes(); got != test.want || (warning != "") != test.warns {
			t.Errorf("%s: %d MiB, %q; want %d MiB", test.name, got/mib, warning, test.want/mib)
		}
	}
}

func TestSettingValidateReportsEveryFault(t *testing.T) {
	s := Setting{Mode: "run", Bandwidth: -1, ReadShare: 2, Pattern: "strided", InFlight: 17, Footprint: 3}
	err := s.Validate()
	if err == nil {
		t.Fatal("no fault reported")
	}
	for _, want := range []string{`"run"`, "bandwidth -1", "read share 2", `"strided"`, "17", "3 bytes", "only with the random pattern"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}
