// Package testprogram runs the tests of experiments and has the programs that they start.
package testprogram

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/ticks/progress"
)

// Shell returns a command that runs a script.
func Shell(script string) launch.Command {
	return launch.Command{Args: []string{"/bin/sh", "-c", script}}
}

// variable has the test binary run as the program of Counting.
const variable = "BANDMATE_TEST_COUNT"

// Counting returns a program that first computes for as much CPU time as uncounted, and then
// counts into its page up to most, each time after some more computing. The program is the
// test binary, whose TestMain has to call Main.
func Counting(uncounted time.Duration, most int) launch.Command {
	return launch.Command{Args: os.Args[:1], Env: append(os.Environ(), fmt.Sprintf("%s=%d %d", variable, uncounted, most))}
}

// runIfCounting runs the program of Counting in a process that was started as that. It
// returns in others.
func runIfCounting() {
	var uncounted time.Duration
	var most int
	if _, err := fmt.Sscanf(os.Getenv(variable), "%d %d", &uncounted, &most); err != nil {
		return
	}
	for used := time.Duration(0); used < uncounted; used, _ = monotonic.ProcessTime(os.Getpid()) {
	}
	x := 1.0
	for range most {
		for range 10_000 {
			x = math.Sqrt(x + 1)
		}
		progress.Add(1)
	}
	os.Exit(min(int(x), 0)) //nolint:forbidigo // the program of Counting ends here
}

// Main runs the tests of a package that starts interferers and commands. A process that was
// started as one of these runs that and ends. others do the same for the package's own programs.
func Main(m *testing.M, others ...func()) {
	interferer.RunIfChild()
	launch.RunIfGuard()
	for _, runIf := range others {
		runIf()
	}
	runIfCounting()
	// The race detector waits a second at every exit, which the processes that the tests
	// start need not.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err) //nolint:forbidigo // no test can run without its environment
	}
	goleak.VerifyTestMain(m)
}

// Open opens what a test measures with on two CPUs, and closes it when the test ends.
func Open[T io.Closer](t *testing.T, open func(context.Context) (T, error)) T {
	t.Helper()
	requires.TwoCPUs(t)
	// The context of a test ends before its cleanup.
	opened, err := open(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}
