package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/load"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
)

// The parties of a service under pressure: the requests it answers, the interferer, and
// the CPU time that it takes for the requests. Factors are of CPU time per request: at a
// given load the answers come as fast as the requests do, however slow each is.
const (
	serverParty = 0
	usedParty   = 2
	// used marks states in which the CPU time counts.
	used modulation.State = 1 << usedParty
)

// answering is the party that load is made for: its work are answers.
type answering struct {
	load  *load.Load
	clock monotonic.Clock
}

func (a answering) Switch(on bool) error { a.load.Open(on); return nil }

func (a answering) Read() (float64, time.Duration, error) {
	return float64(a.load.Answers()), a.clock.Now(), a.load.Err()
}

func (answering) Smooth() bool { return true }

const (
	// requestsPerSlice is how many requests a slice holds, so that the shares of
	// those on its edges do not matter much.
	requestsPerSlice = 60
	// shortestServed is the length of a slice of a service with many requests: long
	// against the ticks by which the kernel counts CPU time.
	shortestServed = 60 * time.Millisecond
	longestServed  = 2 * time.Second
	// settledShare of a slice is left out at its beginning, so that requests that
	// began before it are answered.
	settledShare = 0.2
)

// servedSlicing returns the slices for a load.
func servedSlicing(rate float64) modulation.Slicing {
	length := time.Duration(requestsPerSlice / rate * float64(time.Second))
	length = min(max(length, shortestServed), longestServed)
	return modulation.Slicing{Length: length, Settle: time.Duration(settledShare * float64(length))}
}

// factors measures the service under every pressure at a load. Share is how much of the
// onboarding is done.
func (t *serving) factors(ctx context.Context, rate, share float64) error {
	l := t.Target.Start(ctx, load.Options{Rate: rate, Connections: t.Connections, Seed: t.Random.Uint64()})
	defer l.Close()
	what := fmt.Sprintf("%s under pressure at %.6g requests/s", t.Name, rate)
	t.tell(share, what)
	bench.Pause(ctx, saturationWarmUp)
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return err
	}
	if t.Traffic != nil {
		// It serves before and after that, too, which is no background.
		counted, err := measureTraffic(ctx, t.Name, t.Traffic, profiler.Workload{Duration: trafficTime})
		if err = cmp.Or(ctx.Err(), l.Err(), err); err != nil {
			return err
		}
		t.experiment.Traffic = map[string]*profiler.Summary{t.Name: counted}
	}
	return t.press(ctx, answering{load: l}, servedSlicing(rate), rate, func(done float64) { t.tell(share+0.22*done, what) })
}

// trafficTime is how long traffic is counted.
const trafficTime = time.Second

// press takes the factors of a service that is under load.
func (t *serving) press(ctx context.Context, server modulation.Party, slicing modulation.Slicing, rate float64, report func(float64)) error {
	second := t.Stream()
	bench := &modulation.Bench{
		Clock: monotonic.Clock{}, Random: t.Random, Slicing: slicing,
		Parties: []modulation.Party{server, second, t.meter},
	}
	plan := &modulation.Plan{
		Bench: bench, Precision: t.Precision, Probe: t.probeApart,
		Class: t.placementWith(), Budget: cmp.Or(t.Budget, defaultBudget), Least: fewestFactors, Report: report,
	}
	if plan.Class != "" {
		plan.MostWaited = calibratedPatience
	}
	plan.Precision.Fewest = max(plan.Precision.Fewest, fewestFactors)
	for _, p := range t.experiment.Pressures {
		plan.Points = append(plan.Points, t.servedPoint(pressurePoint(t.Name, p, second)))
	}
	plan.Points = append(plan.Points, t.servedPoint(controlPoint(t.Name)))
	err := t.Stage.Run(ctx, plan)
	if errors.Is(err, modulation.ErrRegimeLeft) {
		plan.Class = ""
		err = t.Stage.Run(ctx, plan)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	class := cmp.Or(plan.Class, plan.Outcome.Complete(fewestFactors))
	if t.Traffic == nil && lacksProbes(t.machine, class) {
		if class, err = t.sameAsProbes(ctx, plan, class); err != nil {
			return err
		}
	}
	if t.class != "" && class != t.class {
		t.warnings = append(t.warnings, fmt.Sprintf("placement: the CPUs moved between the loads: the factors at %.6g requests per second are of the %s placement, those before of the %s placement", rate, class, t.class))
	}
	t.class = class
	return t.keepFactors(plan.Outcome, class, rate)
}

// placementWith returns the placement to measure in: without counters, that of the load
// before, or one for which the probes of the machine are calibrated; empty for any.
func (t *serving) placementWith() regime.Class {
	if t.Traffic != nil {
		return ""
	}
	return cmp.Or(t.class, calibratedPlacement(t.machine))
}

// sameAsProbes returns a placement in which the plan was carried out and the machine has
// probes. It starts from one for which they are missing: either they are calibrated for it,
// while the service is idle, or the service is measured again in one for which they are
// there.
func (t *serving) sameAsProbes(ctx context.Context, plan *modulation.Plan, class regime.Class) (regime.Class, error) {
	probing, err := newProbing(ctx, t.Stage, t.Machine, class)
	if err != nil {
		return "", err
	}
	probing.plan.Patience = calibratedPatience
	calibrate := func(ctx context.Context) error {
		if err := topology.ConfineProcess(t.everywhere, 0); err != nil {
			return err
		}
		err := probing.take(ctx)
		return errors.Join(err, topology.ConfineProcess(t.pressed(), 0))
	}
	calibrated := calibratedPlacement(t.machine)
	n, err := firstPlacement(ctx, calibrate, func(ctx context.Context) error {
		plan.Class, plan.MostWaited, plan.Patience = calibrated, 0, calibratedPatience
		if err := t.Stage.Run(ctx, plan); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		return nil
	})
	if err != nil || n == 1 {
		return calibrated, err
	}
	t.machine, err = probing.addTo(t.machine)
	return class, err
}

// probeApart is probe with the threads of the load out of the way: they are idle, and a
// probe needs both CPUs. It is called on the thread that switches, which stays where it
// is.
func (t *serving) probeApart(ctx context.Context) (regime.Tag, error) {
	if err := topology.ConfineProcess(t.everywhere, unix.Gettid()); err != nil {
		return regime.Tag{}, err
	}
	tag, err := t.Probe(ctx)
	return tag, errors.Join(err, topology.ConfineProcess(t.pressed(), unix.Gettid()))
}

// fewestFactors is the fewest blocks of each pressure.
const fewestFactors = 6

// servedPoint makes the point of a program that of a service: CPU time per request.
func (t *serving) servedPoint(p modulation.Point) modulation.Point {
	for i, s := range p.States {
		if s.Has(serverParty) {
			p.States[i] |= used
		}
	}
	per := usedParty
	p.Compare[0].Per = &per
	prepare := p.Prepare
	p.Prepare = func() error {
		if prepare != nil {
			if err := prepare(); err != nil {
				return err
			}
		}
		return t.meter.Refresh()
	}
	return p
}

// keepFactors adds what was measured at a load in a placement to the service.
func (t *serving) keepFactors(o *modulation.Outcome, class regime.Class, rate float64) error {
	e := &estimator{readings: o.Readings[class], session: t.Stage.Session}
	curves, err := e.curves(t.Name, t.experiment.Pressures)
	if err != nil {
		return err
	}
	readings := e.probeReadings(t.Name, t.experiment.Pressures)
	for i := range readings {
		if t.Target == nil {
			break // a closed loop sends fewer
		}
		// The same requests arrive beside a probe: the traffic is that of the load.
		readings[i].ApplicationPerformance, readings[i].ApplicationSpread = new(1.0), new(0.0)
	}
	m := measured{circumstancesOf(o, class), v1alpha1.Timing{Seconds: 1 / rate, Repeats: 1}, curves, readings}
	p, err := t.experiment.profile(Application{Name: t.Name, Command: t.Command}, m, t.machine)
	if err != nil {
		return err
	}
	p.Spec.Measurement.Ticks = "answers per CPU time"
	if r, ok := e.result(t.Name, control); ok && r.Spread != nil {
		c := &v1alpha1.Control{NormalizedPerformance: float64(r.NormalizedPerformance), StandardError: r.StandardError}
		p.Spec.Measurement.Control = c
		if math.Abs(c.NormalizedPerformance-1) > controlTolerance*max(c.StandardError, leastControlError) {
			t.warnings = append(t.warnings, fmt.Sprintf("control: with nothing beside it the performance at %.6g requests per second came out as %.3f ± %.3f instead of 1: the factors may be off by as much", rate, c.NormalizedPerformance, c.StandardError))
		}
	}
	t.profiles = append(t.profiles, p)
	t.service.Factors = append(t.service.Factors, v1alpha1.ServiceFactors{
		RequestsPerSecond: rate, Curves: curves,
		ReadBytesPerSecond: p.Spec.Contentiousness.ReadBytesPerSecond, WriteBytesPerSecond: p.Spec.Contentiousness.WriteBytesPerSecond,
	})
	return nil
}

// measureForeign takes saturation and factors of a service with a closed-loop generator
// of its own.
func (t *serving) measureForeign(ctx context.Context) (err error) {
	generator := t.ProgramOn(t.Generator, t.Source, t.pressed())
	if err := generator.Start(ctx); err != nil {
		return t.explain(ctx, err)
	}
	defer func() { err = errors.Join(err, generator.Stop()) }()
	if err := generator.Switch(true); err != nil {
		return err
	}
	if err := generator.AwaitTicks(ctx); err != nil {
		return t.explain(ctx, err)
	}
	bench.Pause(ctx, saturationWarmUp)
	rate, spread, steps, server, err := t.foreignRate(ctx, generator)
	if err != nil {
		return t.explain(ctx, err)
	}
	t.service.Requests = []string{t.Generator.String()}
	if t.apart.IsEmpty() {
		t.service.Shared = fmt.Sprintf("too few CPUs for server, load and interferer apart: the load ran on the server's CPUs %s: saturation and traffic are those of both", t.Placement.Target)
	}
	t.service.SaturationRequestsPerSecond, t.service.SaturationRelativeSpread = rate, &spread
	t.service.SaturationAtLeast = t.unsaturated(rate, server)
	t.warnings = append(t.warnings, "the load generator is a closed loop: it tells the saturation and no latencies, because it sends fewer requests while answers are slow")
	t.tell(0.55, t.Name+" under pressure")
	err = t.press(ctx, generator, servedSlicing(min(steps, rate)), rate, func(done float64) { t.tell(0.55+0.44*done, t.Name+" under pressure") })
	if errors.Is(err, modulation.ErrEnded) {
		err = fmt.Errorf("the load generator: %w: have it run for minutes", err)
	}
	return t.explain(ctx, err)
}

// unsaturated reports whether the rate of a load generator of its own is a lower bound of
// the saturation: the server was not at its limit, of which server is the share of its CPUs
// that it used.
func (t *serving) unsaturated(rate, server float64) bool {
	if server > busy {
		return false
	}
	t.warnings = append(t.warnings, fmt.Sprintf("saturation: the server used %.0f%% of its CPUs at the %.5g requests per second of the load generator, which may be its limit and not the server's: have it keep more requests under way", 100*server, rate))
	return true
}

// foreignRate returns the rate of the generator, its relative standard error, how often
// its count changes in a second, and the share of its CPUs that the server used.
func (t *serving) foreignRate(ctx context.Context, g *bench.Program) (rate, relative, steps, server float64, err error) {
	if err := t.meter.Refresh(); err != nil {
		return 0, 0, 0, 0, err
	}
	before, since, err := t.meter.Read()
	if err != nil {
		return 0, 0, 0, 0, err
	}
	var rates []float64
	changes := 0
	clock := monotonic.Clock{}
	begin := clock.Now()
	last, _, err := g.Read()
	if err != nil {
		return 0, 0, 0, 0, err
	}
	for range saturationWindows {
		from, start, err := g.Read()
		if err != nil {
			return 0, 0, 0, 0, err
		}
		until := start + saturationWindow
		to, end := from, start
		for end < until && ctx.Err() == nil {
			clock.Sleep(time.Millisecond)
			if to, end, err = g.Read(); err != nil {
				return 0, 0, 0, 0, err
			}
			if to != last {
				changes++
				last = to
			}
		}
		rates = append(rates, (to-from)/(end-start).Seconds())
	}
	for _, r := range rates {
		rate += r / float64(len(rates))
	}
	if !(rate > 0) {
		return 0, 0, 0, 0, cmp.Or(ctx.Err(), fmt.Errorf("%w: the load generator counted nothing in %v: does the server answer it?", ErrService, (clock.Now()-begin).Round(time.Millisecond)))
	}
	steps = float64(changes) / (clock.Now() - begin).Seconds()
	after, until, err := t.meter.Read()
	server = (after - before) / (until - since).Seconds() / float64(t.Placement.Target.Size())
	return rate, *stats.Spread(rates) / rate / math.Sqrt(saturationWindows), steps, server, err
}
