package topology

import (
	"errors"
	"testing"

	"k8s.io/utils/cpuset"
)

func TestRunOn(t *testing.T) {
	allowed, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range allowed.List()[:min(allowed.Size(), 4)] {
		var inside, after cpuset.CPUSet
		done := make(chan error)
		go func() {
			var insideErr error
			err := RunOn(cpu, func() { inside, insideErr = AllowedCPUs() })
			var afterErr error
			after, afterErr = AllowedCPUs()
			done <- errors.Join(err, insideErr, afterErr)
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !inside.Equals(cpuset.New(cpu)) {
			t.Errorf("ran on CPUs %s, want %d", inside, cpu)
		}
		if !after.Equals(allowed) {
			t.Errorf("left the thread on CPUs %s, want %s", after, allowed)
		}
	}
}

func TestRunOnRefuses(t *testing.T) {
	for _, cpu := range []int{-1, MaxCPUs - 1, MaxCPUs} {
		ran := false
		if err := RunOn(cpu, func() { ran = true }); !errors.Is(err, ErrOffline) || ran {
			t.Errorf("CPU %d: error %v, ran %v; want ErrOffline without running", cpu, err, ran)
		}
	}
}

func TestReadHost(t *testing.T) {
	m, err := ReadHost()
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if !allowed.IsSubsetOf(m.Online()) {
		t.Errorf("allowed CPUs %s are not all among the online %s", allowed, m.Online())
	}
	if m.MemoryBytes <= 0 {
		t.Errorf("%d bytes of memory", m.MemoryBytes)
	}
}

func TestConfineProcess(t *testing.T) {
	allowed, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ConfineProcess(allowed, 0); err != nil {
			t.Error(err)
		}
	}()
	one := cpuset.New(allowed.List()[0])
	if err := ConfineProcess(one, 0); err != nil {
		t.Fatal(err)
	}
	if all, err := ProcessCPUs(); err != nil || !all.Equals(one) {
		t.Errorf("threads run on %s, %v; want %s", all, err, one)
	}
}
