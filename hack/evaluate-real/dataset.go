package main

import (
	"errors"
	"path/filepath"
	"strconv"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
)

// writeDataset writes apps.csv, curves.csv and pairs.csv. Columns that need
// counters are empty.
func writeDataset(output string, v *onboard.Verified) error {
	return errors.Join(
		study.WriteCSV(filepath.Join(output, "apps.csv"), appRows(v)),
		study.WriteCSV(filepath.Join(output, "curves.csv"), curveRows(v)),
		study.WriteCSV(filepath.Join(output, "pairs.csv"), pairRows(v)),
	)
}

func appRows(v *onboard.Verified) [][]string {
	rows := [][]string{{
		"app", "half", "threads", "local_runtime_s", "local_read_Bps", "local_write_Bps", "local_read_latency_ns",
		"remote_runtime_s", "remote_read_Bps", "remote_write_Bps", "remote_read_latency_ns", "solo_relative_sd", "relative_uncertainty", "source",
	}}
	for _, p := range v.Profiles {
		c := p.Spec.Contentiousness
		seconds, read, write := study.Number(p.Spec.Solo.Seconds), study.Number(c.ReadBytesPerSecond), study.Number(c.WriteBytesPerSecond)
		rows = append(rows, []string{
			p.Name, "real", "1", seconds, read, write, "", seconds, read, write, "",
			study.Optional(p.Spec.Solo.RelativeSpread), study.Optional(c.RelativeUncertainty), c.Source,
		})
	}
	return rows
}

func curveRows(v *onboard.Verified) [][]string {
	rows := [][]string{{
		"app", "read_pct", "level", "interferer_solo_read_Bps", "interferer_solo_write_Bps", "norm_perf", "runtime_s",
		"app_read_Bps", "app_write_Bps", "interferer_corun_read_Bps", "interferer_corun_write_Bps", "repeats", "repeat_sd",
	}}
	for _, p := range v.Profiles {
		for _, c := range p.Spec.Curves {
			// The data set has no column for the pattern.
			if c.Pattern == string(interferer.Random) {
				continue
			}
			for _, point := range c.Points {
				achieved := *point.AchievedBytesPerSecond
				rows = append(rows, []string{
					p.Name, study.Number(100 * c.ReadShare), study.Number(point.Level),
					study.Number(point.InterfererBytesPerSecond * c.ReadShare), study.Number(point.InterfererBytesPerSecond * (1 - c.ReadShare)),
					study.Number(point.NormalizedPerformance), study.Number(p.Spec.Solo.Seconds / point.NormalizedPerformance), "", "",
					study.Number(achieved * c.ReadShare), study.Number(achieved * (1 - c.ReadShare)),
					strconv.Itoa(point.Repeats), study.Optional(point.Spread),
				})
			}
		}
	}
	return rows
}

func pairRows(v *onboard.Verified) [][]string {
	solo := map[string]float64{}
	for _, p := range v.Profiles {
		solo[p.Name] = p.Spec.Solo.Seconds
	}
	rows := [][]string{{
		"app", "corunner", "norm_perf", "runtime_s", "corunner_completed_runs",
		"app_read_Bps", "app_write_Bps", "corunner_read_Bps", "corunner_write_Bps", "repeats", "repeat_sd",
	}}
	for _, pair := range v.Pairs {
		performance := float64(pair.NormalizedPerformance)
		rows = append(rows, []string{
			pair.Target, pair.Corunner, study.Number(performance), study.Number(solo[pair.Target] / performance),
			"", "", "", "", "", strconv.Itoa(pair.Repeats), study.Optional(pair.Spread),
		})
	}
	return rows
}
