package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// The files of a data set.
const (
	appsFile   = "apps.csv"
	curvesFile = "curves.csv"
	pairsFile  = "pairs.csv"
	// timelineFile is optional.
	timelineFile = "timeseries.csv"
)

// Dataset is what was measured: applications, their curves, and the pairs to
// score against.
type Dataset struct {
	// Apps are the applications in the order of apps.csv.
	Apps []App
	// Pairs are the measured pairs in the order of pairs.csv.
	Pairs []Pair
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

// Read reads a data set. It is strict: an error names file, line and column.
func Read(fsys fs.FS) (*Dataset, error) {
	d := &Dataset{}
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
	return d, nil
}

// app returns the application of a name, or nil.
func (d *Dataset) app(name string) *App {
	i := slices.IndexFunc(d.Apps, func(a App) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Apps[i]
}

// known returns the application that a field names.
func (d *Dataset) known(t *table, column string) (*App, error) {
	name, err := t.text(column)
	if err != nil {
		return nil, err
	}
	a := d.app(name)
	if a == nil {
		return nil, t.fault(column, fmt.Errorf("%q is not in %s", name, appsFile))
	}
	return a, nil
}

func (d *Dataset) readApps(fsys fs.FS) error {
	required := []string{"app", "remote_runtime_s", "remote_read_Bps", "remote_write_Bps"}
	return readTable(fsys, appsFile, required, func(t *table) error {
		name, err := t.text("app")
		if err != nil {
			return err
		}
		if d.app(name) != nil {
			return t.fault("app", fmt.Errorf("%q appears twice", name))
		}
		a := App{Name: name}
		if a.Remote, err = soloRun(t, "remote_"); err != nil {
			return err
		}
		if t.has("local_runtime_s") && t.has("local_read_Bps") && t.has("local_write_Bps") {
			local, err := soloRun(t, "local_")
			if err != nil {
				return err
			}
			a.Local = &local
		}
		d.Apps = append(d.Apps, a)
		return nil
	})
}

func soloRun(t *table, prefix string) (SoloRun, error) {
	seconds, err := t.positive(prefix + "runtime_s")
	if err != nil {
		return SoloRun{}, err
	}
	traffic, err := traffic(t, prefix)
	return SoloRun{Seconds: seconds, Traffic: traffic}, err
}

func traffic(t *table, prefix string) (units.Traffic, error) {
	read, err := t.rate(prefix + "read_Bps")
	if err != nil {
		return units.Traffic{}, err
	}
	write, err := t.rate(prefix + "write_Bps")
	return units.Traffic{Read: units.Bandwidth(read), Write: units.Bandwidth(write)}, err
}

func (d *Dataset) readCurves(fsys fs.FS) error {
	required := []string{"app", "read_pct", "level", "interferer_solo_read_Bps", "interferer_solo_write_Bps", "norm_perf"}
	return readTable(fsys, curvesFile, required, func(t *table) error {
		a, err := d.known(t, "app")
		if err != nil {
			return err
		}
		share, err := t.number("read_pct", 0, 100)
		if err != nil {
			return err
		}
		point, err := curvePoint(t)
		if err != nil {
			return err
		}
		a.addPoint(share/100, point)
		return nil
	})
}

func curvePoint(t *table) (v1alpha1.CurvePoint, error) {
	point := v1alpha1.CurvePoint{Repeats: 1}
	var err error
	if point.Level, err = t.positive("level"); err != nil {
		return point, err
	}
	if point.Level > 1 {
		return point, t.fault("level", errors.New("want above 0 to 1"))
	}
	solo, err := traffic(t, "interferer_solo_")
	if err != nil {
		return point, err
	}
	point.InterfererBytesPerSecond = float64(solo.Total())
	if point.NormalizedPerformance, err = t.positive("norm_perf"); err != nil {
		return point, err
	}
	if t.has("interferer_corun_read_Bps") && t.has("interferer_corun_write_Bps") {
		achieved, err := traffic(t, "interferer_corun_")
		if err != nil {
			return point, err
		}
		total := float64(achieved.Total())
		point.AchievedBytesPerSecond = &total
	}
	return point, nil
}

// addPoint puts a point into the curve of its read share, both in order.
func (a *App) addPoint(share float64, p v1alpha1.CurvePoint) {
	i, found := slices.BinarySearchFunc(a.Curves, share, func(c v1alpha1.SensitivityCurve, share float64) int {
		switch {
		case c.ReadShare < share:
			return -1
		case c.ReadShare > share:
			return 1
		default:
			return 0
		}
	})
	if !found {
		a.Curves = slices.Insert(a.Curves, i, v1alpha1.SensitivityCurve{ReadShare: share})
	}
	curve := &a.Curves[i]
	at := len(curve.Points)
	for at > 0 && curve.Points[at-1].InterfererBytesPerSecond > p.InterfererBytesPerSecond {
		at--
	}
	curve.Points = slices.Insert(curve.Points, at, p)
}

// readTimelines reads the optional time lines of the solo runs as a co-runner.
func (d *Dataset) readTimelines(fsys fs.FS) error {
	required := []string{"app", "where", "t_end_s", "read_Bps", "write_Bps"}
	err := readTable(fsys, timelineFile, required, func(t *table) error {
		a, err := d.known(t, "app")
		if err != nil {
			return err
		}
		where, err := t.text("where")
		if err != nil || where != "remote" {
			return err
		}
		seconds, err := t.positive("t_end_s")
		if err != nil {
			return err
		}
		if n := len(a.Timeline); n > 0 && seconds <= a.Timeline[n-1].Seconds {
			return t.fault("t_end_s", fmt.Errorf("%v: want a time after the previous %v", seconds, a.Timeline[n-1].Seconds))
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
	return readTable(fsys, pairsFile, []string{"app", "corunner", "norm_perf"}, func(t *table) error {
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
		measured, err := t.positive("norm_perf")
		if err != nil {
			return err
		}
		p.Measured = units.NormalizedPerformance(measured)
		d.Pairs = append(d.Pairs, p)
		return nil
	})
}
