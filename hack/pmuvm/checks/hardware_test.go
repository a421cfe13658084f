package checks

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/hack/pmuvm/fakepmu"
)

// Encodings of the icx personality.
const (
	icxReads  = 0x0f04
	icxWrites = 0x3004
)

// pause is long enough for perf to take turns several times.
const pause = 60 * time.Millisecond

// hardwareChecks are those of the pretend hardware itself.
func hardwareChecks() []check {
	icx := machine{pmus: "uncore_imc_0:icx", rates: "* 0 1e8 5e7; * 1 3e7 0"}
	still := machine{pmus: "uncore_imc_0:icx"}
	return []check{
		{"hardware: events of tasks come and go while all CPUs are busy", taskEvents},
		{"hardware: rates are exact in time_running, per box", icx.on(hardwareRates)},
		{"hardware: a register wraps unseen", machine{pmus: icx.pmus, rates: icx.rates, options: "headroom=10"}.on(hardwareRates)},
		{"hardware: events beyond the counters take turns", icx.on(hardwareTurns)},
		{"hardware: exclude bits, sampling and tasks are refused", icx.on(hardwareRefusals)},
		{"hardware: other users are refused", icx.on(hardwareOtherUsers)},
		{"hardware: a box moves when its CPU goes offline", icx.on(hardwareMoves)},
		{"hardware: added counts are exact, and can go back", still.on(hardwareAdds)},
		{"hardware: a rate that changes counts from then on", icx.on(hardwareRateChange)},
		{"hardware: parts of a quantity add up", machine{
			pmus: "uncore_imc_0:gnr,amd_df:df,amd_df_4:df4,uncore_imc_free_running_0:client",
		}.on(hardwareParts)},
		{"hardware: a PMU is removed once it is not in use", icx.on(hardwareRemoval)},
	}
}

func within(what string, got, want, tolerance float64) error {
	if math.Abs(got-want) <= tolerance*math.Abs(want) {
		return nil
	}
	return fmt.Errorf("%s: %.9g, want %.9g ± %g%%", what, got, want, 100*tolerance)
}

// taskEvents gets a machine stuck whose scheduler is rewritten with every such
// event: see holdEvents of the guest.
func taskEvents() error {
	const times = 1000
	var ended atomic.Bool
	var sleepers sync.WaitGroup
	for range 2 * cpus {
		sleepers.Go(func() {
			for !ended.Load() {
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
			}
		})
	}
	defer sleepers.Wait()
	defer ended.Store(true)
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES,
	}
	for range times {
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

func hardwareRates() error {
	var faults []error
	for _, box := range []struct {
		cpu    int
		config uint64
		want   float64
	}{{0, icxReads, 1e8}, {1, icxWrites, 5e7}, {2, icxReads, 3e7}, {3, icxWrites, 0}} {
		r, err := countFor(pause, "uncore_imc_0", box.config, box.cpu)
		if err == nil {
			err = within(fmt.Sprintf("%#x on CPU %d", box.config, box.cpu), r.perSecond(), box.want, 1e-6)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func countFor(duration time.Duration, pmu string, config uint64, cpu int) (reading, error) {
	e, err := open(pmu, config, cpu, nil)
	if err != nil {
		return reading{}, err
	}
	defer e.close()
	time.Sleep(duration)
	return e.read()
}

func hardwareTurns() error {
	events, err := openAll(6, "uncore_imc_0", icxReads, 0)
	if err != nil {
		return err
	}
	defer closeAll(events)
	time.Sleep(4 * pause)
	var faults []error
	for _, e := range events {
		r, err := e.read()
		if err == nil {
			err = within("rate", r.perSecond(), 1e8, 1e-6)
		}
		if err == nil && r.running >= r.enabled {
			err = fmt.Errorf("one of 6 events on 4 counters ran all the time")
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func hardwareRefusals() error {
	var faults []error
	for name, change := range map[string]func(*unix.PerfEventAttr){
		"exclude_user":   func(a *unix.PerfEventAttr) { a.Bits |= unix.PerfBitExcludeUser },
		"exclude_kernel": func(a *unix.PerfEventAttr) { a.Bits |= unix.PerfBitExcludeKernel },
		"exclude_hv":     func(a *unix.PerfEventAttr) { a.Bits |= unix.PerfBitExcludeHv },
		"exclude_idle":   func(a *unix.PerfEventAttr) { a.Bits |= unix.PerfBitExcludeIdle },
		"exclude_guest":  func(a *unix.PerfEventAttr) { a.Bits |= unix.PerfBitExcludeGuest },
		"sampling":       func(a *unix.PerfEventAttr) { a.Sample = 1000 },
		"another event":  func(a *unix.PerfEventAttr) { a.Config = 0x77 },
	} {
		faults = append(faults, refused(name, syscall.EINVAL)(open("uncore_imc_0", icxReads, 0, change)))
	}
	faults = append(faults,
		refused("a task", syscall.EINVAL)(openFor(os.Getpid(), "uncore_imc_0", icxReads, -1, nil)),
		refused("a task on a CPU", syscall.EINVAL)(openFor(os.Getpid(), "uncore_imc_0", icxReads, 0, nil)))
	return errors.Join(faults...)
}

func refused(what string, want syscall.Errno) func(event, error) error {
	return func(e event, err error) error {
		if err == nil {
			e.close()
		}
		return fails(what, err, want)
	}
}

// fails expects an error that wraps want.
func fails(what string, err error, want error) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s: no error, want %w", what, want)
	case !errors.Is(err, want):
		return fmt.Errorf("%s: %w, want %w", what, err, want)
	}
	return nil
}

func hardwareOtherUsers() error {
	return errors.Join(
		fails("perf_event_paranoid 2", openAsUser("uncore_imc_0", icxReads, 0), syscall.EACCES),
		fakepmu.SetParanoid(0),
		openAsUser("uncore_imc_0", icxReads, 0))
}

func cpuMask(want string) error {
	text, err := os.ReadFile(pmuFolder + "uncore_imc_0/cpumask")
	if got := strings.TrimSpace(string(text)); err == nil && got != want {
		err = fmt.Errorf("cpumask %q, want %q", got, want)
	}
	return err
}

func hardwareMoves() error {
	e, err := open("uncore_imc_0", icxReads, 2, nil)
	if err != nil {
		return err
	}
	defer e.close()
	faults := []error{cpuMask("0,2"), fakepmu.SetOnline(2, false), cpuMask("0,3")}
	before, err := e.read()
	time.Sleep(pause)
	after, err2 := e.read()
	faults = append(faults, err, err2, within("rate", after.minus(before).perSecond(), 3e7, 1e-6))
	faults = append(faults, fakepmu.SetOnline(3, false), cpuMask("0"), fakepmu.SetOnline(3, true), cpuMask("0,3"))
	return errors.Join(faults...)
}

func hardwareAdds() error {
	e, err := open("uncore_imc_0", icxWrites, 2, nil)
	if err != nil {
		return err
	}
	defer e.close()
	if err := fakepmu.Add([]fakepmu.Line{{PMU: "uncore_imc_0", Node: "1", Counts: fakepmu.Counts{Reads: 7, Writes: 123456789}}}); err != nil {
		return err
	}
	first, err := e.read()
	if err == nil {
		err = fakepmu.GoBack(fakepmu.All, "1", 100)
	}
	second, err2 := e.read()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if first.count != 123456789 || second.count != first.count-100 {
		return fmt.Errorf("%d, then %d, want 123456789, then 100 less", first.count, second.count)
	}
	return nil
}

func hardwareRateChange() error {
	e, err := open("uncore_imc_0", icxReads, 0, nil)
	if err != nil {
		return err
	}
	defer e.close()
	time.Sleep(pause)
	early, err := e.read()
	if err == nil {
		err = fakepmu.SetRates([]fakepmu.Line{{PMU: fakepmu.All, Node: fakepmu.All}})
	}
	if err != nil {
		return err
	}
	first, err := e.read()
	time.Sleep(pause)
	second, err2 := e.read()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if first.count < early.count || second.count != first.count {
		return fmt.Errorf("counts %d, %d, %d: want the last two equal", early.count, first.count, second.count)
	}
	return nil
}

func hardwareParts() error {
	add := []fakepmu.Line{{PMU: fakepmu.All, Node: "0", Counts: fakepmu.Counts{Reads: 1000003, Writes: 500009}}}
	var faults []error
	for _, part := range []struct {
		name, pmu string
		configs   []uint64
		want      uint64
	}{
		{"reads of both sub-channels", "uncore_imc_0", []uint64{0xcf05, 0xcf06}, 1000003},
		{"writes of both sub-channels", "uncore_imc_0", []uint64{0xf005, 0xf006}, 500009},
		{"first channels", "amd_df", []uint64{0x3807, 0x3847, 0x3887, 0x38c7}, 750006},
		{"last channels", "amd_df", []uint64{0x100003807, 0x100003847, 0x100003887, 0x1000038c7}, 750006},
		{"reads of the first Zen 4 channels", "amd_df_4", []uint64{0x700fe1f, 0xb00fe1f, 0x700fe5f, 0xb00fe5f}, 166667},
		{"data_total", "uncore_imc_free_running_0", []uint64{0x10ff}, 1500012},
	} {
		faults = append(faults, partsAddUp(part.name, part.pmu, part.configs, add, part.want))
	}
	return errors.Join(faults...)
}

func partsAddUp(name, pmu string, configs []uint64, add []fakepmu.Line, want uint64) error {
	var events []event
	defer func() { closeAll(events) }()
	for _, config := range configs {
		e, err := open(pmu, config, 0, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		events = append(events, e)
	}
	if err := fakepmu.Add(add); err != nil {
		return err
	}
	var sum uint64
	for _, e := range events {
		r, err := e.read()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sum += r.count
	}
	if diff := int64(sum - want); diff < -1 || diff > 1 {
		return fmt.Errorf("%s: %d, want %d", name, sum, want)
	}
	return nil
}

func hardwareRemoval() error {
	e, err := open("uncore_imc_0", icxReads, 0, nil)
	if err != nil {
		return err
	}
	inUse := fails("while in use", fakepmu.Remove("uncore_imc_0"), syscall.EBUSY)
	e.close()
	broken := errors.Join(
		fakepmu.FailOpening("uncore_imc_0", "0", syscall.ENODEV),
		refused("broken", syscall.ENODEV)(open("uncore_imc_0", icxReads, 0, nil)))
	removed := fakepmu.Remove("uncore_imc_0")
	_, err = os.Stat(pmuFolder + "uncore_imc_0")
	return errors.Join(inUse, broken, removed, fails("its folder", err, os.ErrNotExist))
}
