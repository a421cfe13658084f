// Package testprogram has the programs that the tests of experiments run.
package testprogram

import (
	"fmt"
	"math"
	"os"
	"time"

	"bandmate.dev/bandmate/internal/monotonic"
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
// test binary, whose TestMain has to call RunIfCounting.
func Counting(uncounted time.Duration, most int) launch.Command {
	return launch.Command{Args: os.Args[:1], Env: append(os.Environ(), fmt.Sprintf("%s=%d %d", variable, uncounted, most))}
}

// RunIfCounting runs the program of Counting in a process that was started as that. It
// returns in others.
func RunIfCounting() {
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
