package pausing

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// Pausing is timed beside programs that compute, for these take longest to stop.
func BenchmarkPauseAndContinue(b *testing.B) {
	for _, c := range []struct {
		name, script string
	}{
		{"computing", "echo ready; " + spin},
		{"sleeping", "echo ready; sleep 300"},
		{"twenty", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do sleep 300 & done; echo ready; " + spin},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := group(b, shell(b, c.script).Process.Pid)
			pauseAndContinue(b, g)
		})
	}
	b.Run("threads", func(b *testing.B) {
		pauseAndContinue(b, group(b, actor(b, "threads", "64").Process.Pid))
	})
	for _, kind := range freezers(b) {
		b.Run("cgroup-"+kind.version, func(b *testing.B) {
			folder := kind.make(b)
			kind.move(b, folder, shell(b, "echo ready; "+spin).Process.Pid)
			pauseAndContinue(b, freezing(b, folder))
		})
	}
}

func pauseAndContinue(b *testing.B, g *Group) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		begin := now()
		if err := errors.Join(g.Pause(), g.Continue()); err != nil {
			b.Fatal(err)
		}
		took = append(took, now()-begin)
	}
	// The mean says most about what else runs on the machine.
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[len(took)/10].Microseconds()), "tenth-µs")
}

// What a look at a process costs.
func BenchmarkLook(b *testing.B) {
	pid := os.Getpid()
	b.Run("stat", func(b *testing.B) {
		for b.Loop() {
			if _, err := readStat(pid); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pending", func(b *testing.B) {
		for b.Loop() {
			if stopIsPending(pid, false) {
				b.Fatal("this process is to be stopped")
			}
		}
	})
	b.Run("lastNumber", func(b *testing.B) {
		for b.Loop() {
			if lastNumber() == 0 {
				b.Fatal("/proc/loadavg cannot be read")
			}
		}
	})
	b.Run(fmt.Sprintf("arm-%v", Longest), func(b *testing.B) {
		dog, err := startWatchdog(nil)
		if err != nil {
			b.Fatal(err)
		}
		defer dog.close()
		for b.Loop() {
			if err := dog.arm(now() + Longest); err != nil {
				b.Fatal(err)
			}
			dog.disarm()
		}
	})
}
