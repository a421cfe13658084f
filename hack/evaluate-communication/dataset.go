package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// write keeps the profiles and the co-runs.
func (e *evaluation) write(output string) error {
	objects := []v1alpha1.Object{e.verified.Machine}
	for _, p := range e.verified.Profiles {
		p.Spec.Command = nil // paths of this machine
		objects = append(objects, p)
	}
	for _, o := range objects {
		text, err := v1alpha1.Encode(o)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(output, o.GetName()+".yaml"), text, 0o644); err != nil {
			return fmt.Errorf("keeping a profile: %w", err)
		}
	}
	file, err := os.Create(filepath.Join(output, "corun.csv"))
	if err != nil {
		return fmt.Errorf("keeping the co-runs: %w", err)
	}
	out := csv.NewWriter(file)
	rows := [][]string{{"target", "corunner", "normalizedPerformance", "spread", "repeats"}}
	for _, p := range e.verified.Pairs {
		spread := ""
		if p.Spread != nil {
			spread = strconv.FormatFloat(*p.Spread, 'f', 4, 64)
		}
		rows = append(rows, []string{
			p.Target, p.Corunner, strconv.FormatFloat(float64(p.NormalizedPerformance), 'f', 4, 64), spread, strconv.Itoa(p.Repeats),
		})
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return file.Close()
}
