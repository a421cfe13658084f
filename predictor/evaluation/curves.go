package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/table"
	"bandmate.dev/bandmate/units"
)

// setting is one setting of the interferer as the files write it.
type setting struct{ readPercent, level float64 }

// readInterferer reads what the interferer reaches alone, by setting; nil
// without the file.
func readInterferer(fsys fs.FS) (map[setting]units.Traffic, error) {
	alone := map[setting]units.Traffic{}
	err := readTable(fsys, interfererFile, []string{"read_pct", "level", "solo_read_Bps", "solo_write_Bps"}, func(t *table.Table) error {
		s, err := settingOf(t)
		if err != nil {
			return err
		}
		if _, twice := alone[s]; twice {
			return t.Fault("level", fmt.Errorf("%v at %v%% reads appears twice", s.level, s.readPercent))
		}
		alone[s], err = traffic(t, "solo_")
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return alone, err
}

func settingOf(t *table.Table) (setting, error) {
	share, err := t.Number("read_pct", 0, 100)
	if err != nil {
		return setting{}, err
	}
	level, err := t.Positive("level")
	if err != nil {
		return setting{}, err
	}
	if level > 1 {
		return setting{}, t.Fault("level", errors.New("want above 0 to 1"))
	}
	return setting{share, level}, nil
}

// Columns of what the interferer reaches alone. Where curves.csv does not have
// them, interferer.csv says it.
const soloColumns = "interferer_solo_"

func (d *Dataset) readCurves(fsys fs.FS) error {
	alone, err := readInterferer(fsys)
	if err != nil {
		return err
	}
	required := []string{"app", "read_pct", "level", "norm_perf"}
	if alone == nil {
		required = append(required, soloColumns+"read_Bps", soloColumns+"write_Bps")
	}
	return readTable(fsys, curvesFile, required, func(t *table.Table) error {
		a, err := d.known(t, "app")
		if err != nil {
			return err
		}
		s, err := settingOf(t)
		if err != nil {
			return err
		}
		solo, err := soloTraffic(t, s, alone)
		if err != nil {
			return err
		}
		point, err := curvePoint(t, s.level, solo)
		if err != nil {
			return err
		}
		a.addPoint(s.readPercent/100, point)
		return nil
	})
}

// soloTraffic returns what the interferer reaches alone at the row's setting.
func soloTraffic(t *table.Table, s setting, alone map[setting]units.Traffic) (units.Traffic, error) {
	if t.Has(soloColumns+"read_Bps") && t.Has(soloColumns+"write_Bps") {
		return traffic(t, soloColumns)
	}
	solo, known := alone[s]
	if !known {
		return solo, t.Fault("level", fmt.Errorf("%v at %v%% reads is not in %s", s.level, s.readPercent, interfererFile))
	}
	return solo, nil
}

func curvePoint(t *table.Table, level float64, solo units.Traffic) (v1alpha1.CurvePoint, error) {
	point := v1alpha1.CurvePoint{Repeats: 1, Level: level, InterfererBytesPerSecond: float64(solo.Total())}
	var err error
	if point.NormalizedPerformance, err = t.Positive("norm_perf"); err != nil {
		return point, err
	}
	if t.Has("interferer_corun_read_Bps") && t.Has("interferer_corun_write_Bps") {
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
