package checks

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"bandmate.dev/bandmate/hack/pmuvm/fakepmu"
)

func faultChecks() []check {
	icx := machine{pmus: "uncore_imc_0:icx", rates: unequalRates, processor: iceLake}
	two := machine{pmus: "uncore_imc_0:icx,uncore_imc_1:icx", rates: unequalRates, processor: iceLake}
	short := icx
	short.options = "counters=1"
	return []check{
		{"more events than counters", icx.on(multiplexed)},
		{"fewer counters than a group needs", short.on(tooFewCounters)},
		{"the CPU of a box is offline", icx.on(func() error {
			return errors.Join(fakepmu.SetOnline(2, false), exactly(root, oneBox, "--duration", "300ms"))
		})},
		{"the CPU of a box goes offline", icx.on(func() error {
			return exactly(root, oneBox, "--", "pmuctl", "sleep", "150ms", "offline", "2", "sleep", "150ms")
		})},
		{"a node goes offline", icx.on(nodeLost)},
		{"permission denied", icx.on(func() error {
			return refuses(user, notMeasurable, []string{"perf_event_paranoid", "CAP_PERFMON"}, measureArguments("imc", []string{"--duration", "300ms"})...)
		})},
		{"permitted by perf_event_paranoid", icx.on(func() error {
			return errors.Join(fakepmu.SetParanoid(0), exactly(user, oneBox, "--duration", "300ms"))
		})},
		{"permitted by CAP_PERFMON", icx.on(func() error { return exactly(userWithPerfmon, oneBox, "--duration", "300ms") })},
		{"no counters at all", machine{}.on(func() error {
			return refuses(root, notMeasurable, nil, measureArguments("imc", []string{"--duration", "300ms"})...)
		})},
		{"one channel of two cannot be opened", two.on(channelBroken)},
		{"a count falls", icx.on(func() error { return countFalls("1e6") })},
		{"a count falls below where it started", icx.on(func() error { return countFalls("1e9") })},
	}
}

// exactly measures by imc and compares.
func exactly(who identity, want expectation, arguments ...string) error {
	s, err := measure(who, "imc", arguments...)
	if err != nil {
		return err
	}
	return want.of(s)
}

// multiplexed measures while others occupy the counters of the first box: perf
// gives every event about half of the time.
func multiplexed() error {
	events, err := openAll(6, "uncore_imc_0", icxReads, 0)
	if err != nil {
		return err
	}
	defer closeAll(events)
	before, err := events[0].read()
	if err != nil {
		return err
	}
	if err := exactly(root, oneBox, "--duration", "1s"); err != nil {
		return err
	}
	after, err := events[0].read()
	if d := after.minus(before); err == nil && d.running >= d.enabled {
		err = errors.New("nothing took turns: this proves nothing")
	}
	return err
}

// tooFewCounters accepts an exact result (events opened one by one) or a
// refusal, but no wrong result.
func tooFewCounters() error {
	o, err := bandmate(root, measureArguments("imc", []string{"--duration", "300ms"})...)
	if err != nil {
		return err
	}
	if o.code != 0 && o.stdout == "" && strings.TrimSpace(o.stderr) != "" {
		return nil
	}
	return exactly(root, oneBox, "--duration", "300ms")
}

// nodeLost takes away both CPUs of a node: what is measured after that is
// either refused, or the node is labeled.
func nodeLost() error {
	return labeled([]string{"node 1", "uncore_imc_0", "socket 1", "CPU 2"},
		"--", "pmuctl", "sleep", "150ms", "offline", "2", "offline", "3", "sleep", "150ms")
}

func channelBroken() error {
	if err := fakepmu.FailOpening("uncore_imc_1", fakepmu.All, syscall.ENODEV); err != nil {
		return err
	}
	return labeled([]string{"uncore_imc_1"}, "--duration", "300ms")
}

// labeled accepts a refusal that says one of the words, or a result that
// carries it in a warning.
func labeled(words []string, arguments ...string) error {
	o, err := bandmate(root, measureArguments("imc", arguments)...)
	if err != nil {
		return err
	}
	text := o.stderr
	if o.code == 0 {
		_, text, _ = strings.Cut(o.stdout, `"warnings"`)
	} else if o.stdout != "" {
		return fmt.Errorf("exit code %d, printed %q", o.code, o.stdout)
	}
	for _, word := range words {
		if strings.Contains(text, word) {
			return nil
		}
	}
	return fmt.Errorf("exit code %d, said %q, want one of %q in it", o.code, text, words)
}

// countFalls lets all counts fall while there is no traffic, so that some sample
// sees it. It accepts no result: a count that fell below its start looks like
// one that rose to nearly 2^64.
func countFalls(counts string) error {
	o, err := bandmate(root, measureArguments("imc", []string{
		"--", "pmuctl", "sleep", "100ms", "rate", "* * 0 0", "sleep", "500ms", "back", "* * " + counts, "sleep", "10ms",
	})...)
	if err != nil || o.code != 0 && o.stdout == "" {
		return err
	}
	return fmt.Errorf("exit code %d, printed %q: want an error", o.code, o.stdout)
}
