package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Options restrict the data that the predictor sees, and receive the predictions.
type Options struct {
	// Methods to evaluate, of Methods(); empty means all.
	Methods []predictor.Method
	// ReadShares keeps the curves nearest to these; empty means all.
	ReadShares []units.ReadShare
	// Levels keeps the points nearest to these; empty means all.
	Levels []float64
	// Noise is the relative standard deviation of the noise that is added to
	// every point of the curves, 0 to 0.5; what was measured beside other
	// applications is left as it is.
	Noise float64
	// Seed chooses the noise: the same seed gives the same noise to a point,
	// whatever else the options keep.
	Seed uint64
	// CalibrateWith names the applications that the model of the memory is fitted
	// to, for cross-validation; empty means all.
	CalibrateWith []string
	// Each, when set, is called with every row in order instead of collecting
	// them in Result.Rows. An error ends the evaluation.
	Each func(Row) error
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var faults []error
	for _, m := range o.Methods {
		if _, err := ParseMethod(string(m)); err != nil {
			faults = append(faults, err)
		}
	}
	for _, share := range o.ReadShares {
		if !share.Valid() {
			faults = append(faults, fmt.Errorf("read share %v: want 0 to 1", float64(share)))
		}
	}
	for _, level := range o.Levels {
		if !(level > 0 && level <= 1) {
			faults = append(faults, fmt.Errorf("level %v: want above 0 to 1", level))
		}
	}
	if !(o.Noise >= 0 && o.Noise <= 0.5) {
		faults = append(faults, fmt.Errorf("noise %v: want 0 to 0.5", o.Noise))
	}
	return errors.Join(faults...)
}

// Row is one prediction beside its measurement.
type Row struct {
	Target string
	// Corunner is the co-runner, or several joined by "+".
	Corunner string
	// Corunners is how many there are.
	Corunners int
	Method    predictor.Method
	Predicted units.NormalizedPerformance
	Interval  predictor.Interval
	Measured  units.NormalizedPerformance
}

// Error returns predicted − measured in percentage points.
func (r Row) Error() float64 { return 100 * float64(r.Predicted-r.Measured) }

// Covered reports whether the interval holds the measured slowdown; one below
// 1 is noise and counts as 1.
func (r Row) Covered() bool {
	s := max(r.Measured.Slowdown(), 1)
	return r.Interval.Low <= s && s <= r.Interval.High
}

// Result is the errors of every method.
type Result struct {
	Methods []MethodErrors `json:"methods"`
	// Groups are the errors beside two co-runners and more, by method and
	// number of co-runners; absent without groups.
	Groups []GroupErrors `json:"groups,omitempty"`
	// Rows are the pairs, then the groups, in the order of the data set, each
	// by every method; nil when Options.Each took them.
	Rows []Row `json:"-"`
}

// task is a co-location to predict.
type task struct {
	target    string
	corunners []string
	measured  units.NormalizedPerformance
}

// Evaluate predicts every pair and every group of d by every method. The result
// does not depend on how many CPUs there are. When ctx is done, it ends with its error.
func Evaluate(ctx context.Context, d *Dataset, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if len(d.Pairs) == 0 {
		return nil, errors.New("the data set has no pairs to score against")
	}
	apps, err := d.compile(ctx, o)
	if err != nil {
		return nil, err
	}
	result, keep := &Result{}, o.Each
	if keep == nil {
		keep = func(r Row) error { //nolint:unparam // what Options.Each is
			result.Rows = append(result.Rows, r)
			return nil
		}
	}
	methods := make([]predictor.Method, len(o.Methods))
	for i, m := range o.Methods {
		methods[i], _ = ParseMethod(string(m)) // it validates
	}
	if len(methods) == 0 {
		methods = Methods()
	}
	tallies := &tallies{methods: methods, by: map[tallyKey]*tally{}}
	err = predictAll(ctx, apps, d.tasks(), methods, func(r Row) error {
		tallies.add(r)
		return keep(r)
	})
	if err != nil {
		return nil, err
	}
	if err := tallies.summarize(result, apps); err != nil {
		return nil, err
	}
	return result, nil
}

// tasks returns the pairs, then the groups.
func (d *Dataset) tasks() []task {
	tasks := make([]task, 0, len(d.Pairs)+len(d.Groups))
	for _, p := range d.Pairs {
		tasks = append(tasks, task{p.Target, []string{p.Corunner}, p.Measured})
	}
	for _, g := range d.Groups {
		tasks = append(tasks, task{g.Target, g.Corunners, g.Measured})
	}
	return tasks
}

// chunkTasks is how many co-locations are predicted before their rows are
// handed on: enough to keep every CPU busy, few enough to hold in memory.
const chunkTasks = 4096

// predictAll predicts chunk by chunk on all CPUs and hands the rows on in order.
func predictAll(ctx context.Context, apps map[string]*predictor.Application, tasks []task, methods []predictor.Method, keep func(Row) error) error {
	rows := make([]Row, chunkTasks*len(methods))
	for chunk := range slices.Chunk(tasks, chunkTasks) {
		some := rows[:len(chunk)*len(methods)]
		if err := predictChunk(ctx, apps, chunk, methods, some); err != nil {
			return err
		}
		for _, r := range some {
			if err := keep(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func predictChunk(ctx context.Context, apps map[string]*predictor.Application, tasks []task, methods []predictor.Method, rows []Row) error {
	faults := make([]error, len(tasks))
	err := parallel.EachWith(ctx, len(tasks), func() func(int) {
		return func(i int) { faults[i] = tasks[i].predict(apps, methods, rows[i*len(methods):(i+1)*len(methods)]) }
	})
	return cmp.Or(err, cmp.Or(faults...)) // the first in order of the rows
}

// predict fills in one row per method.
func (t *task) predict(apps map[string]*predictor.Application, methods []predictor.Method, rows []Row) error {
	corunners := make([]*predictor.Application, len(t.corunners))
	for i, name := range t.corunners {
		corunners[i] = apps[name]
	}
	joined := strings.Join(t.corunners, "+")
	for i, m := range methods {
		p, err := predictor.Predict(apps[t.target], corunners, optionsOf(m))
		if err != nil {
			return fmt.Errorf("%s beside %s: %w", t.target, joined, err)
		}
		rows[i] = Row{
			Target: t.target, Corunner: joined, Corunners: len(corunners), Method: m,
			Predicted: p.NormalizedPerformance, Interval: p.Interval, Measured: t.measured,
		}
	}
	return nil
}

// compile returns the applications by their names in the data set, as every command
// that predicts from these profiles compiles them.
func (d *Dataset) compile(ctx context.Context, o Options) (map[string]*predictor.Application, error) {
	profiles, machine, err := d.Profiles(o)
	if err != nil {
		return nil, err
	}
	known := advisor.New(profiles, []*v1alpha1.MachineProfile{machine})
	if len(o.CalibrateWith) > 0 {
		var names []string
		for i := range d.Apps {
			if slices.Contains(o.CalibrateWith, d.Apps[i].Name) {
				names = append(names, profiles[i].Name)
			}
		}
		known = known.FittedTo(names)
	}
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	entries, err := known.Choose(names, machine.Name)
	if err != nil {
		return nil, err
	}
	method := predictor.Memgen // the methods of the paper know no calibration
	if len(o.Methods) == 0 || slices.ContainsFunc(o.Methods, fitsModel) {
		method = predictor.Default
	}
	apps := make(map[string]*predictor.Application, len(d.Apps))
	g, err := known.Group(ctx, entries, method)
	if err != nil {
		return nil, err
	}
	for i, a := range g.Applications() {
		apps[d.Apps[i].Name] = a
	}
	return apps, nil
}
