// Command checks runs the table of checks of the counter sources inside the
// virtual machine of hack/pmu-vm.sh: first that the pretend PMUs behave like
// hardware, through perf_event_open(2) alone, then what bandmate makes of them.
//
//	checks [SUBSTRING...]
//
// With arguments, only checks whose name contains one of them run. It prints a
// line per check and "N passed, M failed", and exits with 1 if any failed.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// check is one line of the table. Run returns nil, or what is wrong.
type check struct {
	name string
	run  func() error
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case openArgument:
			os.Exit(openAndReport(os.Args[2:]))
		case burnArgument:
			os.Exit(burn(strings.Join(os.Args[2:], "")))
		case burnChildArgument:
			os.Exit(burnChild())
		}
	}
	all := slices.Concat(hardwareChecks(), trafficChecks(), faultChecks(), commandChecks(), scopeChecks())
	if failed := runAll(os.Stdout, choose(all, os.Args[1:])); failed > 0 {
		os.Exit(1)
	}
}

// runAll returns how many checks failed; no checks at all are a failure.
func runAll(w io.Writer, checks []check) int {
	failed := 0
	for _, c := range checks {
		started := time.Now()
		if err := c.run(); err != nil {
			failed++
			fmt.Fprintf(w, "FAIL  %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", "\n        "))
			continue
		}
		fmt.Fprintf(w, "ok    %s (%.1f s)\n", c.name, time.Since(started).Seconds())
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", len(checks)-failed, failed)
	if len(checks) == 0 {
		return 1
	}
	return failed
}

func choose(all []check, substrings []string) []check {
	if len(substrings) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(c check) bool {
		return !slices.ContainsFunc(substrings, func(s string) bool { return strings.Contains(c.name, s) })
	})
}
