package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/load"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/topology"
)

// Serving onboards a service: a server that answers requests until it is stopped.
type Serving struct {
	Session *bench.Session
	Name    string
	// Command starts the server; without Args, Attached runs already.
	Command  launch.Command
	Attached profiler.Processes
	// Ready answers once the server is ready; Target is what the load asks for, nil
	// where Generator makes it.
	Ready, Target *load.Target
	// Generator is a closed-loop load generator, whose requests Source counts. It
	// yields no latencies.
	Generator launch.Command
	Source    ticks.Source
	// Connections is the number of requests that may be under way at a time.
	Connections int
	// Patience is how long the server may take to be ready; 0 means a minute.
	Patience time.Duration
	// LoadTime is how long each load of the sweep lasts; 0 means 2 s.
	LoadTime time.Duration
	// Wanted are the points of the curve families.
	Wanted    []pressure.Pressure
	Precision modulation.Precision
	// Budget bounds the time under pressure at each load; 0 means half a minute.
	Budget time.Duration
	// Known is the machine's profile; nil when it has never been measured, as Machine
	// then says how to.
	Known   *v1alpha1.MachineProfile
	Machine MachineOptions
	// Traffic measures the server's traffic with counters; nil has it inferred.
	Traffic profiler.Source
	// Report is told the share of the work that is done, 0 to 1, and what runs now;
	// may be nil.
	Report func(share float64, what string)
}

// ErrService is wrapped where the server is not there, not ready, or ends.
var ErrService = errors.New("the service cannot be measured")

// serving is one run of a Serving.
type serving struct {
	*Serving
	*bench.Stage
	experiment *Experiment
	process    *launch.Process
	processes  profiler.Processes
	meter      cpuMeter
	// apart are CPUs that neither server nor interferer uses; empty where there are
	// none.
	apart cpuset.CPUSet
	// everywhere are the CPUs that this process may use.
	everywhere cpuset.CPUSet
	// machine is the profile of the machine, and class the placement of the last factors.
	machine *v1alpha1.MachineProfile
	class   regime.Class
	service v1alpha1.Service
	// profiles hold what was measured at each load of the factors.
	profiles []*v1alpha1.ApplicationProfile
	warnings []string
	// redirect is where a request is redirected to; empty where it is not.
	redirect string
}

// Run returns the profile of the service and that of the machine, which is Known itself
// when it lacked nothing. Nothing that it started runs on.
func (b *Serving) Run(ctx context.Context) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	t := &serving{Serving: b, experiment: &Experiment{Session: b.Session, Version: b.Machine.Version}}
	if err := b.notThere(ctx); err != nil {
		return nil, nil, err
	}
	if t.Stage, err = b.Session.OpenStage(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, t.Stage.Close()) }()
	t.place()
	// A server that does not work is told before minutes are spent on the machine.
	if err := t.begin(ctx); err != nil {
		return nil, nil, err
	}
	if err := t.end(); err != nil {
		return nil, nil, err
	}
	t.tell(0, "the interferer alone")
	if t.experiment.Pressures, err = b.Session.MeasurePressures(ctx, pressure.WithProbes(b.Wanted)); err != nil {
		return nil, nil, err
	}
	if t.machine = b.Known; t.machine == nil {
		options := b.Machine
		options.Report = func(share float64, what string) { t.tell(0.05+0.15*share, what) }
		if t.machine, err = measureMachine(ctx, t.Stage, options); err != nil {
			return nil, nil, err
		}
	}
	if b.Traffic == nil && t.placementWith() == "" {
		t.tell(0.05, "the probes")
		if t.machine, err = addProbes(ctx, t.Stage, t.machine, b.Machine, ""); err != nil {
			return nil, nil, err
		}
	}
	t.tell(0.2, "waiting for "+t.Name)
	if err := t.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	if err := t.measure(ctx); err != nil {
		return nil, nil, err
	}
	return t.profile(), t.machine, nil
}

func (t *serving) tell(share float64, what string) {
	if t.Report != nil {
		t.Report(share, what)
	}
}

// notThere fails where something answers already that is to be started.
func (b *Serving) notThere(ctx context.Context) error {
	if len(b.Command.Args) == 0 {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := b.Ready.Ask(asking); err == nil || errors.Is(err, load.ErrRejected) {
		return fmt.Errorf("%w: something answers at %s before the server is started: stop it, or measure it with --attach-pid", ErrService, b.Ready)
	}
	return ctx.Err()
}

// place finds CPUs for the load, and says what has to be shared.
func (t *serving) place() {
	t.everywhere = t.Stage.Session.Allowed
	t.apart = t.UnusedCPUs()
	if t.apart.IsEmpty() {
		t.service.Shared = fmt.Sprintf("too few CPUs for server, load and interferer apart: the load ran on the interferer's CPUs %s while the server was alone, and on the server's CPUs %s under pressure: the traffic contains that of the load, and higher loads were not measured under pressure",
			t.InterfererCPUs(), t.Placement.Target)
	}
}

// alone are the CPUs of the load while the interferer is idle, pressed those while it
// is not.
func (t *serving) alone() cpuset.CPUSet {
	if t.apart.IsEmpty() {
		return t.InterfererCPUs()
	}
	return t.apart
}

func (t *serving) pressed() cpuset.CPUSet {
	if t.apart.IsEmpty() {
		return t.Placement.Target
	}
	return t.apart
}

// begin starts the server, or takes hold of the one that runs, and waits until it is
// ready.
func (t *serving) begin(ctx context.Context) error {
	// The runtime would adapt to the CPUs that the load is confined to, and a probe needs
	// two.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	t.processes = t.Attached
	if len(t.Command.Args) > 0 {
		var err error
		if t.process, err = t.Start(ctx, t.Command); err != nil {
			return err
		}
		tree, err := tasks.OpenTree(os.DirFS("/proc"), t.process.PID)
		if err != nil {
			t.process.Kill()
			<-t.process.Done
			return errors.Join(t.gone(), t.end())
		}
		t.processes = tree
	}
	t.meter = cpuMeter{tasks.NewCPUMeter(t.processes)}
	waiting, cancel := context.WithTimeout(ctx, cmp.Or(t.Patience, time.Minute))
	defer cancel()
	err := t.Ready.AwaitReady(waiting, t.gone)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrService) {
		err = fmt.Errorf("%w: %s does not answer at %s after %v: %w", ErrService, t.Name, t.Ready, cmp.Or(t.Patience, time.Minute), err)
	}
	if err == nil {
		bench.Pause(ctx, backgrounded)
		err = cmp.Or(ctx.Err(), t.gone())
	}
	if err == nil && t.Target != nil {
		if t.redirect, err = t.Target.Redirect(ctx); err != nil {
			err = fmt.Errorf("%w: %s is ready, but a request fails: %s: %w", ErrService, t.Name, t.Target, err)
		}
	}
	if err != nil {
		return errors.Join(cmp.Or(ctx.Err(), err), t.end())
	}
	return t.meter.Refresh()
}

// backgrounded is the time after which a server that goes into the background is found
// to be gone: what it left is stopped.
const backgrounded = 500 * time.Millisecond

// gone returns why the server is not there any more; nil while it is.
func (t *serving) gone() error {
	if t.process == nil {
		ids, err := t.processes.Threads()
		if err == nil && len(ids) == 0 {
			err = fmt.Errorf("%w: %s ended", ErrService, t.processes)
		}
		return err
	}
	select {
	case <-t.process.Done:
	default:
		return nil
	}
	if _, err := t.process.Wait(); err != nil {
		return fmt.Errorf("%w: the server ended: %w", ErrService, err)
	}
	return fmt.Errorf("%w: %q ended by itself: have it serve in the foreground", ErrService, t.Command.String())
}

// explain returns why the server is gone, if it is, otherwise the error itself.
func (t *serving) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	if gone := t.gone(); gone != nil {
		return gone
	}
	return err
}

// stopPatience is how long a server may take to end when it is asked to.
const stopPatience = 3 * time.Second

// end stops a server that was started here, and lets this process use all CPUs again.
func (t *serving) end() error {
	err := topology.ConfineProcess(t.everywhere, 0)
	runtime.SetDefaultGOMAXPROCS()
	if t.process == nil {
		return err
	}
	_ = unix.Kill(-t.process.PID, unix.SIGTERM)
	select {
	case <-t.process.Done:
	case <-time.After(stopPatience):
	}
	t.process.Kill()
	<-t.process.Done
	if tree, ok := t.processes.(*tasks.Tree); ok {
		err = errors.Join(err, tree.Close())
	}
	t.process = nil
	return err
}

const (
	// lowLoad and highLoad are the shares of the saturation at which pressure is
	// measured: few requests at a time, and nearly always some, with room to be
	// slowed down.
	lowLoad, highLoad = 0.3, 0.65
	// slowed is the least change of the saturation that is worth a warning.
	slowed = 0.08
)

// measure takes the sweep alone, and the factors at two loads.
func (t *serving) measure(ctx context.Context) error {
	if t.Target == nil {
		return t.measureForeign(ctx)
	}
	if err := topology.ConfineProcess(t.alone(), 0); err != nil {
		return err
	}
	first, err := t.saturation(ctx, t.alone(), t.Connections)
	if err != nil {
		return t.explain(ctx, err)
	}
	t.service.SaturationAtLeast = t.bounded(first, func() (saturated, error) {
		return t.saturation(ctx, t.alone(), 2*t.Connections)
	})
	t.service.Requests = t.Target.Requests()
	t.service.SaturationRequestsPerSecond, t.service.SaturationRelativeSpread = first.rate, &first.spread
	if err := t.sweep(ctx, first.rate); err != nil {
		return t.explain(ctx, err)
	}
	last, err := t.saturation(ctx, t.alone(), t.Connections)
	if err != nil {
		return t.explain(ctx, err)
	}
	if math.Abs(last.rate/first.rate-1) > notable(first, last) {
		t.warnings = append(t.warnings, fmt.Sprintf("saturation: %.5g requests per second before the load sweep and %.5g after it: the service, or the machine, changes over time", first.rate, last.rate))
	}
	if err := topology.ConfineProcess(t.pressed(), 0); err != nil {
		return err
	}
	most := first.rate
	if t.apart.IsEmpty() {
		shared, err := t.saturation(ctx, t.pressed(), t.Connections)
		if err != nil {
			return t.explain(ctx, err)
		}
		most = min(most, shared.rate)
	}
	for i, share := range []float64{lowLoad, highLoad} {
		if err := t.factors(ctx, share*most, 0.55+0.22*float64(i)); err != nil {
			return t.explain(ctx, err)
		}
	}
	return t.gone()
}

// profile makes the profile of what was measured at the highest load.
func (t *serving) profile() *v1alpha1.ApplicationProfile {
	p := t.profiles[len(t.profiles)-1]
	saturation := t.service.SaturationRequestsPerSecond
	p.Spec.Solo = v1alpha1.Timing{Seconds: 1 / saturation, RelativeSpread: t.service.SaturationRelativeSpread, Repeats: saturationWindows}
	p.Spec.Service = &t.service
	for _, other := range t.profiles[:len(t.profiles)-1] {
		p.Spec.Measurement.DroppedSamples += other.Spec.Measurement.DroppedSamples
	}
	if t.redirect != "" {
		t.warnings = append(t.warnings, fmt.Sprintf("request: %s is answered by a redirect to %q: the latencies are those of redirects; to measure what it leads to, give that URL", t.Target, t.redirect))
	}
	p.Spec.Warnings = append(p.Spec.Warnings, t.warnings...)
	return p
}

// saturated is what a closed loop reached.
type saturated struct {
	rate, spread float64
	// server and generator are the shares of their CPUs that the server and the load
	// generator used.
	server, generator float64
}

// notable returns the relative change from a to b that is more than noise.
func notable(a, b saturated) float64 { return max(slowed, 3*math.Hypot(a.spread, b.spread)) }

// bounded reports whether first is a lower bound of the saturation: the load generator was
// at its limit and the server was not, or neither was, and the server answers more where
// twice as many requests may be under way.
func (t *serving) bounded(first saturated, twice func() (saturated, error)) bool {
	if first.server > busy || first.generator > busy {
		return first.server <= busy
	}
	// A server may refuse so many. Whether it has ended is found out soon.
	more, err := twice()
	if err != nil || more.rate/first.rate-1 <= notable(first, more) {
		return false
	}
	t.warnings = append(t.warnings, fmt.Sprintf("saturation: %.5g requests per second with %d requests under way and %.5g with %d: the number of requests is the limit, not the service: give more --connections", first.rate, t.Connections, more.rate, 2*t.Connections))
	return true
}

const (
	// saturationWarmUp is left out: connections are opened, and caches fill.
	saturationWarmUp = 500 * time.Millisecond
	// saturationWindows of saturationWindow each tell the saturation.
	saturationWindows = 6
	saturationWindow  = 400 * time.Millisecond
	// busy is the share of its CPUs from which a program is at its limit.
	busy = 0.9
)

// saturation measures the highest rate with a closed loop of so many connections. The load
// runs on cpus.
func (t *serving) saturation(ctx context.Context, cpus cpuset.CPUSet, connections int) (saturated, error) {
	l := t.Target.Start(ctx, load.Options{Connections: connections, Seed: t.Random.Uint64()})
	defer l.Close()
	bench.Pause(ctx, saturationWarmUp)
	if _, err := l.Take(); err != nil {
		return saturated{}, err
	}
	if err := t.meter.Refresh(); err != nil {
		return saturated{}, err
	}
	var rates, server, own []float64
	for range saturationWindows {
		before, begin, _ := t.meter.Read()
		used := ownCPUTime()
		bench.Pause(ctx, saturationWindow)
		after, end, _ := t.meter.Read()
		r, err := l.Take()
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return saturated{}, err
		}
		rates = append(rates, r.Rate())
		server = append(server, (after-before)/(end-begin).Seconds()/float64(t.Placement.Target.Size()))
		own = append(own, (ownCPUTime()-used).Seconds()/(end-begin).Seconds()/float64(cpus.Size()))
	}
	s := saturated{rate: stats.Median(rates), server: stats.Median(server), generator: stats.Median(own)}
	if !(s.rate > 0) {
		return s, fmt.Errorf("%w: no request was answered in %v", ErrService, saturationWindow)
	}
	s.spread = *stats.Spread(rates) / s.rate / math.Sqrt(saturationWindows)
	return s, nil
}

// cpuMeter is a party whose work is CPU time, in seconds.
type cpuMeter struct{ *tasks.CPUMeter }

// Switch does nothing: the service works when there is load.
func (cpuMeter) Switch(bool) error { return nil }

// Smooth reports true: the time advances by ticks of the kernel, short against a slice. That
// of processes which end within one comes when they end, in steps of 10 ms, which is noise.
func (cpuMeter) Smooth() bool { return true }

// ownCPUTime is what this process has used.
func ownCPUTime() time.Duration {
	var u unix.Rusage
	// The only errors are those of a wrong address or number.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
