package measure

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// workingSet is what `interfere --footprint` kept in the caches.
type workingSet struct {
	Bytes                  int64           `json:"bytes"`
	AccessedBytesPerSecond units.Bandwidth `json:"accessedBytesPerSecond"`
	// HeldBytes is how much of it was in the caches, on average; absent where the time
	// of the accesses does not tell.
	HeldBytes *int64 `json:"heldBytes,omitempty"`
	// OccupancyBytes is what resctrl counted of it in the last window; absent where it counts none.
	OccupancyBytes *int64 `json:"occupancyBytes,omitempty"`
}

// workingSetSetting returns what makes the accesses, for so many CPUs.
func (f interfereFlags) workingSetSetting(cpus int) (interferer.Setting, error) {
	bytes, err := cli.ParseBytes("--footprint", f.footprint)
	if err != nil {
		return interferer.Setting{}, err
	}
	if f.bandwidth != "100%" || f.readShare != "100%" || f.pattern != string(interferer.Sequential) {
		return interferer.Setting{}, cli.Usagef("--footprint loads lines in random order as fast as it can: leave out --bandwidth, --read-share and --pattern")
	}
	each := bytes / int64(cpus) / units.LineBytes * units.LineBytes
	if each == 0 {
		return interferer.Setting{}, cli.Usagef("--footprint %s: want %d bytes or more for each CPU", f.footprint, units.LineBytes)
	}
	s := interferer.Setting{
		Mode: interferer.Stream, ReadShare: 1, Pattern: interferer.Random, InFlight: f.inFlight, Footprint: each,
	}
	if err := s.Validate(); err != nil {
		return s, cli.UsageError(err)
	}
	return s, nil
}

// onCPU returns the rate of accesses while the threads had their CPUs.
func onCPU(w interferer.Achieved) units.Bandwidth {
	return w.Traffic.Total() / units.Bandwidth(max(1-w.OffCPUShare, leastOnCPU))
}

// leastOnCPU is the part of the time with a CPU that a rate is taken over at least.
const leastOnCPU = 0.01

// ratesOf returns the rates at which the CPUs can access lines of memory, and those of a
// working set in the caches. That set is smaller than the footprint of a CPU where so much may
// not fit there.
func ratesOf(m *topology.Machine, cpus cpuset.CPUSet, footprint int64, rate func(footprint int64) (units.Bandwidth, error)) (memory, resident units.Bandwidth, err error) {
	if memory, err = rate(0); err != nil {
		return 0, 0, err
	}
	if fits, known := pressure.ResidentOn(m, cpus); known {
		footprint = min(footprint, fits)
	}
	resident, err = rate(footprint)
	return memory, resident, err
}

// keepWorkingSet runs interfere with a footprint.
func (f interfereFlags) keepWorkingSet(ctx context.Context, a *cli.App, o interferer.Options) (err error) {
	setting, err := f.workingSetSetting(o.CPUs.Size())
	if err != nil {
		return err
	}
	rate := func(footprint int64) (units.Bandwidth, error) {
		s := setting
		s.Footprint = footprint
		w, err := interferer.Run(ctx, o, s, sustainedWindow, 0, nil)
		return onCPU(w), errors.Join(err, ctx.Err())
	}
	machine, err := topology.ReadHost()
	if err != nil {
		return err
	}
	memory, resident, err := ratesOf(machine, o.CPUs, setting.Footprint, rate)
	if err != nil {
		return err
	}
	total := setting.Footprint * int64(o.CPUs.Size())
	line := func(w interferer.Achieved) string {
		text := fmt.Sprintf("%s accessed in %s", w.Traffic.Total(), report.Bytes(total))
		if held, known := interferer.Held(total, resident, memory, onCPU(w)); known {
			text += fmt.Sprintf(", %s of it in the caches", report.Bytes(held))
		}
		return text
	}
	counted, err := newCountedSet(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counted.close()) }()
	o.Started = counted.started
	achieved, err := interferer.Run(ctx, o, setting, f.duration, f.window, func(w interferer.Achieved) {
		counted.read()
		if !a.Quiet {
			fmt.Fprintln(a.Stderr, line(w))
		}
	})
	if ctx.Err() != nil && achieved.Elapsed == 0 {
		return ctx.Err()
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	achieved.Warnings = append(achieved.Warnings, quotaWarnings(o.CPUs)...)
	result := interfereReport(setting, achieved)
	set := &workingSet{Bytes: total, AccessedBytesPerSecond: achieved.Traffic.Total()}
	missing := achieved.Traffic.Total()
	if held, known := interferer.Held(total, resident, memory, onCPU(achieved)); known {
		set.HeldBytes = &held
		missing *= 1 - units.Bandwidth(held)/units.Bandwidth(total)
	} else {
		result.Warnings = append(result.Warnings, fmt.Sprintf(
			"lines of a working set of %s take as long as lines of memory: what is in the caches cannot be told", report.Bytes(total)))
	}
	set.OccupancyBytes = counted.bytes
	result.WorkingSet, result.ReadBytesPerSecond = set, missing
	return errors.Join(a.Print(result, func(w io.Writer) error {
		a.Warn(result.Warnings)
		text := line(achieved)
		if counted.bytes != nil {
			text += fmt.Sprintf(", %s as resctrl counts", report.Bytes(*counted.bytes))
		}
		_, err := fmt.Fprintf(w, "%s for %s\n", text, report.Duration(achieved.Elapsed))
		return err
	}), ctx.Err())
}
