package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/table"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// The files of a data set.
const (
	appsFile   = "apps.csv"
	curvesFile = "curves.csv"
	pairsFile  = "pairs.csv"
	// These are optional.
	interfererFile = "interferer.csv"
	groupsFile     = "groups.csv"
	timelineFile   = "timeseries.csv"
	platformFile   = "platform.json"
	randomFile     = "curves_random.csv"
)

// Dataset is what was measured: applications, their curves, and the pairs to
// score against.
type Dataset struct {
	// Apps are the applications in the order of apps.csv.
	Apps []App
	// Pairs are the measured pairs in the order of pairs.csv.
	Pairs []Pair
	// Groups are the measured groups in the order of groups.csv; nil without.
	Groups []Group
	// Platform is what platform.json says of the machine; zero without.
	Platform Platform

	index map[string]int // of an application in Apps, while reading
}

// App is one application of a data set.
type App struct {
	Name string
	// Local is its run alone as a target, where its curves were measured; nil
	// when the data set has no local_ columns.
	Local *SoloRun
	// Remote is its run alone as a co-runner: its contentiousness.
	Remote SoloRun
	// Uncertainty is the half width of the 90% interval of the traffic of Remote ÷ this
	// traffic; nil when not known.
	Uncertainty *float64
	// Timeline is the traffic over the Remote run; nil when not recorded.
	Timeline []v1alpha1.TrafficSample
	// Curves are its sensitivity curves, ordered by read share.
	Curves []v1alpha1.SensitivityCurve
	// Cache is the application beside an interferer in the cache that all share; nil
	// when not measured.
	Cache []v1alpha1.CachePoint

	near bool // as near to the memory as a co-runner as as a target
}

// SoloRun is a run without anyone beside.
type SoloRun struct {
	Seconds float64
	Traffic units.Traffic
}

// Pair is one measured co-location.
type Pair struct {
	Target, Corunner string
	// Measured is the target's normalized performance, above zero.
	Measured units.NormalizedPerformance
}

// Group is one measured co-location of three applications or more.
type Group struct {
	Target    string
	Corunners []string
	// Measured is the target's normalized performance, above zero.
	Measured units.NormalizedPerformance
}

// Read reads a data set. It is strict: an error names file, line and column.
func Read(fsys fs.FS) (*Dataset, error) {
	d := &Dataset{index: map[string]int{}}
	for _, read := range []func(fs.FS) error{d.readPlatform, d.readApps, d.readCurves, d.readCachePoints, d.readTimelines, d.readPairs, d.readGroups} {
		if err := read(fsys); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// known returns the application that a field names; an empty one where the field
// fails.
func (d *Dataset) known(t *table.Table, column string) *App {
	return d.named(t, column, t.Text(column))
}

// target returns the name of the row's application, which fails without curves.
func (d *Dataset) target(t *table.Table) string {
	a := d.known(t, "app")
	if a.Name != "" && len(a.Curves) == 0 {
		t.Fail("app", fmt.Errorf("no row of %q in %s: measure it beside the interferer", a.Name, curvesFile))
	}
	return a.Name
}

func (d *Dataset) named(t *table.Table, column, name string) *App {
	i, known := d.index[name]
	if !known {
		t.Fail(column, fmt.Errorf("%q is not in %s", name, appsFile))
		return &App{}
	}
	return &d.Apps[i]
}

func (d *Dataset) readApps(fsys fs.FS) error {
	required := []string{"app", "remote_runtime_s", "remote_read_Bps", "remote_write_Bps"}
	return readTable(fsys, appsFile, required, func(t *table.Table) {
		a := App{Name: t.Text("app"), Remote: soloRun(t, "remote_"), near: d.Platform.Link == memory.LinkNone}
		if _, twice := d.index[a.Name]; twice {
			t.Fail("app", fmt.Errorf("%q appears twice", a.Name))
		}
		if hasAll(t, "local_runtime_s", "local_read_Bps", "local_write_Bps") {
			local := soloRun(t, "local_")
			a.Local = &local
		}
		if t.Given("relative_uncertainty") {
			a.Uncertainty = new(t.NotNegative("relative_uncertainty"))
		}
		d.index[a.Name] = len(d.Apps)
		d.Apps = append(d.Apps, a)
	})
}

func soloRun(t *table.Table, prefix string) SoloRun {
	return SoloRun{Seconds: t.Positive(prefix + "runtime_s"), Traffic: traffic(t, prefix)}
}

func traffic(t *table.Table, prefix string) units.Traffic {
	return units.Traffic{
		Read:  units.Bandwidth(t.NotNegative(prefix + "read_Bps")),
		Write: units.Bandwidth(t.NotNegative(prefix + "write_Bps")),
	}
}

// readTimelines reads the time lines of the solo runs as a co-runner.
func (d *Dataset) readTimelines(fsys fs.FS) error {
	required := []string{"app", "where", "t_end_s", "read_Bps", "write_Bps"}
	return readOptional(fsys, timelineFile, required, func(t *table.Table) {
		a := d.known(t, "app")
		if t.Text("where") != "remote" {
			return
		}
		seconds, traffic := t.Positive("t_end_s"), traffic(t, "")
		if n := len(a.Timeline); n > 0 && seconds <= a.Timeline[n-1].Seconds {
			t.Fail("t_end_s", fmt.Errorf("%v: want a time after the previous %v", seconds, a.Timeline[n-1].Seconds))
		}
		a.Timeline = append(a.Timeline, v1alpha1.TrafficSample{
			Seconds:             seconds,
			ReadBytesPerSecond:  float64(traffic.Read),
			WriteBytesPerSecond: float64(traffic.Write),
		})
	})
}

func (d *Dataset) readPairs(fsys fs.FS) error {
	return readTable(fsys, pairsFile, []string{"app", "corunner", "norm_perf"}, func(t *table.Table) {
		d.Pairs = append(d.Pairs, Pair{
			Target: d.target(t), Corunner: d.known(t, "corunner").Name,
			Measured: units.NormalizedPerformance(performance(t)),
		})
	})
}

// readGroups reads the groups; their co-runners are joined by "+".
func (d *Dataset) readGroups(fsys fs.FS) error {
	return readOptional(fsys, groupsFile, []string{"app", "corunners", "norm_perf"}, func(t *table.Table) {
		g := Group{Target: d.target(t)}
		for name := range strings.SplitSeq(t.Text("corunners"), "+") {
			g.Corunners = append(g.Corunners, d.named(t, "corunners", name).Name)
		}
		if len(g.Corunners) == 1 {
			t.Fail("corunners", fmt.Errorf("%q alone: want two or more joined by +, and pairs in %s", g.Corunners[0], pairsFile))
		}
		g.Measured = units.NormalizedPerformance(performance(t))
		d.Groups = append(d.Groups, g)
	})
}

// readTable opens a file of a data set and hands each row to read.
func readTable(fsys fs.FS, file string, required []string, read func(*table.Table)) error {
	f, err := fsys.Open(file)
	if err != nil {
		return fmt.Errorf("data set: %w", err)
	}
	defer f.Close()
	return table.Each(f, file, required, read)
}

// readOptional is readTable for a file that need not be there.
func readOptional(fsys fs.FS, file string, required []string, read func(*table.Table)) error {
	if err := readTable(fsys, file, required, read); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
