package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/table"
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
	// Timeline is the traffic over the Remote run; nil when not recorded.
	Timeline []v1alpha1.TrafficSample
	// Curves are its sensitivity curves, ordered by read share.
	Curves []v1alpha1.SensitivityCurve
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
	if err := d.readApps(fsys); err != nil {
		return nil, err
	}
	if err := d.readCurves(fsys); err != nil {
		return nil, err
	}
	if err := d.readTimelines(fsys); err != nil {
		return nil, err
	}
	if err := d.readPairs(fsys); err != nil {
		return nil, err
	}
	if err := d.readGroups(fsys); err != nil {
		return nil, err
	}
	return d, nil
}

// app returns the application of a name, or nil.
func (d *Dataset) app(name string) *App {
	i, known := d.index[name]
	if !known {
		return nil
	}
	return &d.Apps[i]
}

// known returns the application that a field names.
func (d *Dataset) known(t *table.Table, column string) (*App, error) {
	name, err := t.Text(column)
	if err != nil {
		return nil, err
	}
	return d.named(t, column, name)
}

func (d *Dataset) named(t *table.Table, column, name string) (*App, error) {
	a := d.app(name)
	if a == nil {
		return nil, t.Fault(column, fmt.Errorf("%q is not in %s", name, appsFile))
	}
	return a, nil
}

func (d *Dataset) readApps(fsys fs.FS) error {
	required := []string{"app", "remote_runtime_s", "remote_read_Bps", "remote_write_Bps"}
	return readTable(fsys, appsFile, required, func(t *table.Table) error {
		name, err := t.Text("app")
		if err != nil {
			return err
		}
		if d.app(name) != nil {
			return t.Fault("app", fmt.Errorf("%q appears twice", name))
		}
		a := App{Name: name}
		if a.Remote, err = soloRun(t, "remote_"); err != nil {
			return err
		}
		if t.Has("local_runtime_s") && t.Has("local_read_Bps") && t.Has("local_write_Bps") {
			local, err := soloRun(t, "local_")
			if err != nil {
				return err
			}
			a.Local = &local
		}
		d.index[name] = len(d.Apps)
		d.Apps = append(d.Apps, a)
		return nil
	})
}

func soloRun(t *table.Table, prefix string) (SoloRun, error) {
	seconds, err := t.Positive(prefix + "runtime_s")
	if err != nil {
		return SoloRun{}, err
	}
	traffic, err := traffic(t, prefix)
	return SoloRun{Seconds: seconds, Traffic: traffic}, err
}

func traffic(t *table.Table, prefix string) (units.Traffic, error) {
	read, err := t.NotNegative(prefix + "read_Bps")
	if err != nil {
		return units.Traffic{}, err
	}
	write, err := t.NotNegative(prefix + "write_Bps")
	return units.Traffic{Read: units.Bandwidth(read), Write: units.Bandwidth(write)}, err
}

// readTimelines reads the optional time lines of the solo runs as a co-runner.
func (d *Dataset) readTimelines(fsys fs.FS) error {
	required := []string{"app", "where", "t_end_s", "read_Bps", "write_Bps"}
	err := readTable(fsys, timelineFile, required, func(t *table.Table) error {
		a, err := d.known(t, "app")
		if err != nil {
			return err
		}
		where, err := t.Text("where")
		if err != nil || where != "remote" {
			return err
		}
		seconds, err := t.Positive("t_end_s")
		if err != nil {
			return err
		}
		if n := len(a.Timeline); n > 0 && seconds <= a.Timeline[n-1].Seconds {
			return t.Fault("t_end_s", fmt.Errorf("%v: want a time after the previous %v", seconds, a.Timeline[n-1].Seconds))
		}
		traffic, err := traffic(t, "")
		if err != nil {
			return err
		}
		a.Timeline = append(a.Timeline, v1alpha1.TrafficSample{
			Seconds:             seconds,
			ReadBytesPerSecond:  float64(traffic.Read),
			WriteBytesPerSecond: float64(traffic.Write),
		})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *Dataset) readPairs(fsys fs.FS) error {
	return readTable(fsys, pairsFile, []string{"app", "corunner", "norm_perf"}, func(t *table.Table) error {
		var p Pair
		for _, field := range []struct {
			column string
			into   *string
		}{{"app", &p.Target}, {"corunner", &p.Corunner}} {
			a, err := d.known(t, field.column)
			if err != nil {
				return err
			}
			*field.into = a.Name
		}
		measured, err := t.Positive("norm_perf")
		if err != nil {
			return err
		}
		p.Measured = units.NormalizedPerformance(measured)
		d.Pairs = append(d.Pairs, p)
		return nil
	})
}

// readGroups reads the optional groups; the co-runners are joined by "+".
func (d *Dataset) readGroups(fsys fs.FS) error {
	err := readTable(fsys, groupsFile, []string{"app", "corunners", "norm_perf"}, func(t *table.Table) error {
		target, err := d.known(t, "app")
		if err != nil {
			return err
		}
		joined, err := t.Text("corunners")
		if err != nil {
			return err
		}
		g := Group{Target: target.Name}
		for name := range strings.SplitSeq(joined, "+") {
			a, err := d.named(t, "corunners", name)
			if err != nil {
				return err
			}
			g.Corunners = append(g.Corunners, a.Name)
		}
		measured, err := t.Positive("norm_perf")
		if err != nil {
			return err
		}
		g.Measured = units.NormalizedPerformance(measured)
		d.Groups = append(d.Groups, g)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readTable opens a file of a data set and hands each row to read.
func readTable(fsys fs.FS, file string, required []string, read func(*table.Table) error) error {
	f, err := fsys.Open(file)
	if err != nil {
		return fmt.Errorf("data set: %w", err)
	}
	defer f.Close()
	return table.Each(f, file, required, read)
}
