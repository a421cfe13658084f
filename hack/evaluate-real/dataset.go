package main

import (
	"errors"
	"path/filepath"
	"strconv"

	"bandmate.dev/bandmate/hack/study"
)

// measured is everything that was measured, in the order of the programs.
type measured struct {
	applications []*onboarded
	pairs        []*pair
	comparisons  []*comparison
}

// ordered is a target beside a co-runner.
type ordered struct {
	target, corunner string
	*result
}

// ordered returns the pairs in both directions, those that are precise or not;
// those of two instances of a program are one.
func (m *measured) ordered() []ordered {
	results := map[[2]string]*result{}
	for _, p := range m.pairs {
		results[[2]string{p.First, p.Second}] = p.Forward
		results[[2]string{p.Second, p.First}] = p.Backward
	}
	var all []ordered
	for _, target := range m.applications {
		for _, corunner := range m.applications {
			if r := results[[2]string{target.Name, corunner.Name}]; r != nil {
				all = append(all, ordered{target.Name, corunner.Name, r})
			}
		}
	}
	return all
}

// writeDataset writes apps.csv, curves.csv and pairs.csv. Columns that need
// counters are empty.
func writeDataset(output string, m *measured) error {
	return errors.Join(
		study.WriteCSV(filepath.Join(output, "apps.csv"), appRows(m)),
		study.WriteCSV(filepath.Join(output, "curves.csv"), curveRows(m)),
		study.WriteCSV(filepath.Join(output, "pairs.csv"), pairRows(m)),
	)
}

func appRows(m *measured) [][]string {
	rows := [][]string{{
		"app", "half", "threads", "local_runtime_s", "local_read_Bps", "local_write_Bps",
		"remote_runtime_s", "remote_read_Bps", "remote_write_Bps", "solo_relative_sd", "relative_uncertainty", "source", "ticks", "steps_per_s",
	}}
	for _, a := range m.applications {
		spec := a.Profile.Spec
		c := spec.Contentiousness
		seconds, read, write := study.Number(spec.Solo.Seconds), study.Number(c.ReadBytesPerSecond), study.Number(c.WriteBytesPerSecond)
		rows = append(rows, []string{
			a.Name, "real", "1", seconds, read, write, seconds, read, write,
			study.Optional(spec.Solo.RelativeSpread), study.Optional(c.RelativeUncertainty), c.Source, a.Ticks, study.Number(a.Steps),
		})
	}
	return rows
}

func curveRows(m *measured) [][]string {
	rows := [][]string{{
		"app", "read_pct", "level", "interferer_solo_read_Bps", "interferer_solo_write_Bps", "norm_perf", "runtime_s",
		"interferer_corun_read_Bps", "interferer_corun_write_Bps", "readings", "standard_error",
	}}
	for _, a := range m.applications {
		for _, c := range a.Profile.Spec.Curves {
			for _, point := range c.Points {
				achieved := *point.AchievedBytesPerSecond
				rows = append(rows, []string{
					a.Name, study.Number(100 * c.ReadShare), study.Number(point.Level),
					study.Number(point.InterfererBytesPerSecond * c.ReadShare), study.Number(point.InterfererBytesPerSecond * (1 - c.ReadShare)),
					study.Number(point.NormalizedPerformance), study.Number(a.Profile.Spec.Solo.Seconds / point.NormalizedPerformance),
					study.Number(achieved * c.ReadShare), study.Number(achieved * (1 - c.ReadShare)),
					strconv.Itoa(point.Repeats), study.Optional(standardError(point)),
				})
			}
		}
	}
	return rows
}

func pairRows(m *measured) [][]string {
	solo := map[string]float64{}
	for _, a := range m.applications {
		solo[a.Name] = a.Profile.Spec.Solo.Seconds
	}
	rows := [][]string{{"app", "corunner", "norm_perf", "runtime_s", "readings", "standard_error"}}
	for _, p := range m.ordered() {
		rows = append(rows, []string{
			p.target, p.corunner, study.Number(p.Performance), study.Number(solo[p.target] / p.Performance),
			strconv.Itoa(p.Readings), study.Number(p.StandardError),
		})
	}
	return rows
}
