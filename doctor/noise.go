package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/regime"
)

const (
	noiseWindow = 200 * time.Millisecond
	noiseCPUs   = 16
	regimeRuns  = 10

	// Above one of these a CPU is called noisy: a share of time that shows in
	// a slowdown of a few percent, or a pause after which the interferer
	// gives up its arrears.
	noisyShare   = 0.01
	noisyLongest = 2 * time.Millisecond
)

// noise spins on some CPUs in turn, spread over those allowed. It begins the time
// over which virtualMachine looks at what the host takes.
func (x *examination) noise() Outcome {
	x.before = x.processorTime()
	if x.allowedErr != nil || x.allowed.IsEmpty() {
		return inconclusive(cpusUnknown)
	}
	var noisy []string
	var longest, lost, watched time.Duration
	for _, cpu := range spread(x.allowed.List(), noiseCPUs) {
		seen, err := x.Interruptions(x.ctx, cpu, noiseWindow)
		if err != nil || seen.Window <= 0 {
			return inconclusive(fmt.Sprintf("not measured on CPU %d: %v", cpu, err))
		}
		longest = max(longest, seen.Longest)
		lost, watched = lost+seen.Total, watched+seen.Window
		if share(seen.Total, seen.Window) > noisyShare || seen.Longest > noisyLongest {
			noisy = append(noisy, strconv.Itoa(cpu))
		}
	}
	detail := fmt.Sprintf("a spinning thread lost %.2f%% of its time to others, the longest pause was %v", 100*share(lost, watched), longest.Round(time.Microsecond))
	if len(noisy) == 0 {
		return ok(detail)
	}
	list := strings.Join(noisy, ",")
	remedy := fmt.Sprintf("stop other programs (top shows them), or keep them off these CPUs: boot with isolcpus=%s, and start this program with taskset -c %s, without which it does not use them either; a program of several threads has to place them itself there", list, list)
	if x.machine != nil && x.machine.VirtualMachine {
		remedy = "stop other programs (top shows them); if it is the host that takes the time, use dedicated CPUs"
	}
	return limited(detail+"; noisy: CPUs "+list, remedy)
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// spread picks at most n of a list at even distances.
func spread(list []int, n int) []int {
	if len(list) <= n {
		return list
	}
	picked := make([]int, n)
	for i := range picked {
		picked[i] = list[i*len(list)/n]
	}
	return picked
}

// regimes probes the first CPUs of application and interferer several times.
func (x *examination) regimes() Outcome {
	if x.placementErr != nil {
		return inconclusive("there is no placement to probe")
	}
	a, b := x.placement.Target.List()[0], x.placement.Interferer.List()[0]
	var tally regime.Tally
	var failure error
	for run := range regimeRuns {
		if run > 0 {
			x.rest()
		}
		tag, err := x.Regime(x.ctx, a, b)
		if err != nil {
			failure = err
			continue
		}
		tally.Add(tag, tag, 0)
	}
	counts := tally.Counts()
	if len(counts) == 0 {
		return Outcome{Inconclusive, failure.Error(), "stop other programs and try again"}
	}
	var seen []string
	for _, c := range counts {
		seen = append(seen, fmt.Sprintf("%s (%v) in %d of %d probes", c.Class, c.RoundTrip, c.Kept, regimeRuns))
	}
	detail := fmt.Sprintf("CPUs %d and %d, by the round trip of a cache line: %s", a, b, strings.Join(seen, ", "))
	switch {
	case len(seen) > 1:
		return limited(
			detail+"; the host moves the CPUs about: samples whose regime changes are dropped, so experiments take longer",
			"use a machine with dedicated CPUs, or pin the virtual CPUs on the host")
	case counts[0].Class == regime.SameCore && !x.sharesCore():
		return limited(
			detail+"; the CPUs are as near as threads of one core, although the kernel lists them on two",
			"use a machine whose virtual CPUs are whole cores")
	}
	return ok(detail)
}

// rest waits between two probes, or until the context ends.
func (x *examination) rest() {
	select {
	case <-x.ctx.Done():
	case <-time.After(x.Pause):
	}
}

// processorTime is zero where it cannot be read.
func (x *examination) processorTime() tasks.CPUTime {
	used, err := tasks.ReadCPUTime(x.Proc)
	if err != nil {
		return tasks.CPUTime{}
	}
	return used
}

func (x *examination) virtualMachine() Outcome {
	switch {
	case x.machineErr != nil:
		return inconclusive("the machine cannot be read")
	case !x.machine.VirtualMachine:
		return ok("no hypervisor was found")
	}
	return limited(
		"this is a virtual machine"+parenthesized(x.machine.Hypervisor)+"; "+stolen(x.before, x.processorTime()),
		"for results that carry over to other machines, use bare metal or dedicated CPUs")
}

func stolen(before, after tasks.CPUTime) string {
	if after.All <= before.All || after.Stolen < before.Stolen {
		return "the time that the host took could not be measured"
	}
	return fmt.Sprintf("the host took %.1f%% of its CPU time during this examination", 100*(after.Stolen-before.Stolen)/(after.All-before.All))
}
