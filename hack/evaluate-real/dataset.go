package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"bandmate.dev/bandmate/interferer"
)

// writeDataset writes apps.csv, curves.csv and pairs.csv. Columns that need
// counters are empty.
func writeDataset(output string, v *measured) error {
	return errors.Join(
		writeCSV(filepath.Join(output, "apps.csv"), appRows(v)),
		writeCSV(filepath.Join(output, "curves.csv"), curveRows(v)),
		writeCSV(filepath.Join(output, "pairs.csv"), pairRows(v)),
	)
}

func appRows(v *measured) [][]string {
	rows := [][]string{{
		"app", "half", "threads", "local_runtime_s", "local_read_Bps", "local_write_Bps", "local_read_latency_ns",
		"remote_runtime_s", "remote_read_Bps", "remote_write_Bps", "remote_read_latency_ns", "solo_relative_sd", "relative_uncertainty", "source",
	}}
	for _, p := range v.Profiles {
		c := p.Spec.Contentiousness
		seconds, read, write := number(p.Spec.Solo.Seconds), number(c.ReadBytesPerSecond), number(c.WriteBytesPerSecond)
		rows = append(rows, []string{
			p.Name, "real", "1", seconds, read, write, "", seconds, read, write, "",
			optional(p.Spec.Solo.RelativeSpread), optional(c.RelativeUncertainty), c.Source,
		})
	}
	return rows
}

func curveRows(v *measured) [][]string {
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
					p.Name, number(100 * c.ReadShare), number(point.Level),
					number(point.InterfererBytesPerSecond * c.ReadShare), number(point.InterfererBytesPerSecond * (1 - c.ReadShare)),
					number(point.NormalizedPerformance), number(p.Spec.Solo.Seconds / point.NormalizedPerformance), "", "",
					number(achieved * c.ReadShare), number(achieved * (1 - c.ReadShare)),
					strconv.Itoa(point.Repeats), optional(point.Spread),
				})
			}
		}
	}
	return rows
}

func pairRows(v *measured) [][]string {
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
			pair.Target, pair.Corunner, number(performance), number(solo[pair.Target] / performance),
			"", "", "", "", "", strconv.Itoa(pair.Repeats), optional(pair.Spread),
		})
	}
	return rows
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 7, 64) }

// optional is empty for what was not measured.
func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

func writeCSV(path string, rows [][]string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := csv.NewWriter(file)
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
