package doctor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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

// noise spins on some CPUs in turn, spread over those allowed.
func (x *examination) noise() Finding {
	f := Finding{Name: "noise", Title: "Noise"}
	if x.allowedErr != nil || x.allowed.IsEmpty() {
		f.State, f.Detail = Inconclusive, "not measured: it is not known which CPUs may be used"
		return f
	}
	var noisy []string
	var longest, lost, watched time.Duration
	for _, cpu := range spread(x.allowed.List(), noiseCPUs) {
		seen, err := x.Interruptions(x.ctx, cpu, noiseWindow)
		if err != nil || seen.Window <= 0 {
			f.State, f.Detail = Inconclusive, fmt.Sprintf("not measured on CPU %d: %v", cpu, err)
			return f
		}
		longest = max(longest, seen.Longest)
		lost, watched = lost+seen.Total, watched+seen.Window
		if share(seen.Total, seen.Window) > noisyShare || seen.Longest > noisyLongest {
			noisy = append(noisy, strconv.Itoa(cpu))
		}
	}
	f.State = OK
	f.Detail = fmt.Sprintf("a spinning thread lost %.2f%% of its time to others, the longest pause was %v", 100*share(lost, watched), longest.Round(time.Microsecond))
	if len(noisy) > 0 {
		f.State = Limited
		f.Detail += "; noisy: CPUs " + strings.Join(noisy, ",")
		f.Remedy = "stop other programs (top shows them), or keep them off these CPUs: boot with isolcpus=" + strings.Join(noisy, ",")
		if x.machine != nil && x.machine.VirtualMachine {
			f.Remedy = "stop other programs (top shows them); if it is the host that takes the time, use dedicated CPUs"
		}
	}
	return f
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
func (x *examination) regimes() Finding {
	f := Finding{Name: "regime", Title: "Placement regime"}
	if x.placementErr != nil {
		f.State, f.Detail = Inconclusive, "there is no placement to probe"
		return f
	}
	a, b := x.placement.Target.List()[0], x.placement.Interferer.List()[0]
	var tally regime.Tally
	var failures []error
	for run := range regimeRuns {
		if run > 0 {
			x.rest()
		}
		tag, err := x.Regime(x.ctx, a, b)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		tally.Add(tag, tag, 0)
	}
	if tally.Kept() == 0 {
		f.State, f.Detail = Inconclusive, failures[0].Error()
		f.Remedy = "stop other programs and try again"
		return f
	}
	var seen []string
	for _, c := range tally.Counts() {
		seen = append(seen, fmt.Sprintf("%s (%v) in %d of %d probes", c.Class, c.RoundTrip, c.Kept, regimeRuns))
	}
	f.State = OK
	f.Detail = fmt.Sprintf("CPUs %d and %d, by the round trip of a cache line: %s", a, b, strings.Join(seen, ", "))
	switch nearest := tally.Counts()[0].Class; {
	case len(seen) > 1:
		f.State = Limited
		f.Detail += "; the host moves the CPUs about: samples whose regime changes are dropped, so experiments take longer"
		f.Remedy = "use a machine with dedicated CPUs, or pin the virtual CPUs on the host"
	case nearest == regime.SameCore && !x.sharesCore():
		f.State = Limited
		f.Detail += "; the CPUs are as near as threads of one core, although the kernel lists them on two"
		f.Remedy = "use a machine whose virtual CPUs are whole cores"
	}
	return f
}

// rest waits between two probes, or until the context ends.
func (x *examination) rest() {
	select {
	case <-x.ctx.Done():
	case <-time.After(x.Pause):
	}
}

// processorTime is the time of all CPUs since boot, in ticks.
type processorTime struct {
	all, stolen uint64
	err         error
}

// processorTime reads the first line of /proc/stat (proc_stat(5)): user, nice,
// system, idle, iowait, irq, softirq, steal; guest time is part of user.
//
//	cpu  14928 0 5775 137944 240 0 76 16 0 0
func (x *examination) processorTime() processorTime {
	text, err := read(x.Proc, "stat")
	if err != nil {
		return processorTime{err: err}
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return processorTime{err: fmt.Errorf("/proc/stat begins with %q", line)}
	}
	var t processorTime
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return processorTime{err: fmt.Errorf("/proc/stat: %w", err)}
		}
		t.all += ticks
		if i == 7 {
			t.stolen = ticks
		}
	}
	return t
}

func (x *examination) virtualMachine(before, after processorTime) Finding {
	f := Finding{Name: "virtual-machine", Title: "Bare metal"}
	switch {
	case x.machineErr != nil:
		f.State, f.Detail = Inconclusive, "the machine cannot be read"
		return f
	case !x.machine.VirtualMachine:
		f.State, f.Detail = OK, "no hypervisor was found"
		return f
	}
	f.State = Limited
	f.Detail = "this is a virtual machine" + model(x.machine.Hypervisor) + "; " + stolen(before, after)
	f.Remedy = "for results that carry over to other machines, use bare metal or dedicated CPUs"
	return f
}

func stolen(before, after processorTime) string {
	if err := errors.Join(before.err, after.err); err != nil {
		return "the time that the host took is not known: " + err.Error()
	}
	if after.all <= before.all || after.stolen < before.stolen {
		return "the time that the host took could not be measured"
	}
	return fmt.Sprintf("the host took %.1f%% of its CPU time during this examination",
		100*float64(after.stolen-before.stolen)/float64(after.all-before.all))
}
