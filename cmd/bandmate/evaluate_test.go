package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/advise"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/predictor"
)

// evaluated is a row that evaluate wrote.
type evaluated struct {
	target, corunners string
	predicted         float64
}

func readEvaluated(t *testing.T, file string) []evaluated {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []evaluated
	for _, line := range lines[1:] {
		p, err := strconv.ParseFloat(line[3], 64)
		if err != nil || line[2] != string(predictor.Default) {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, evaluated{line[0], line[1], p})
	}
	return rows
}

// What evaluate compares with the truth is what predict and matrix answer from the same
// profiles, also where applications are farther from the memory as co-runners.
func TestEvaluateIsWhatPredictSays(t *testing.T) {
	t.Parallel() // computes only
	platforms := []string{"ddr3x4", "ddr4x2"}
	if testing.Short() {
		platforms = platforms[:1] // the race detector makes fits slow
	}
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "store")
			file := filepath.Join(t.TempDir(), "rows.csv")
			processtest.Bandmate(t, "evaluate", filepath.Join("..", "..", "predictor", "testdata", "simulated", platform), "--method", "default",
				"--read-shares", "50,100", "--levels", "0.25,0.5,0.75,1", "--predictions", file, "--profiles", folder).WantExit(0)
			rows := readEvaluated(t, file)
			ask := func(into any, args ...string) {
				t.Helper()
				p := processtest.Bandmate(t, append(args, "-o", "json", "--store", folder)...)
				p.WantExit(0)
				if err := json.Unmarshal([]byte(p.Stdout.String()), into); err != nil {
					t.Fatalf("%s: %v", args, err)
				}
			}
			var matrix advise.MatrixResult
			ask(&matrix, "matrix")
			place := map[string]int{}
			for i, name := range matrix.Applications {
				place[name] = i
			}
			const exactly = 1e-9
			pairs, groups := 0, 0
			for _, r := range rows {
				if corunners := strings.Split(r.corunners, "+"); len(corunners) > 1 {
					if groups++; groups%50 != 0 {
						continue
					}
					var p predictor.Prediction
					ask(&p, append([]string{"predict", r.target}, corunners...)...)
					if off := math.Abs(float64(p.NormalizedPerformance) - r.predicted); !(off <= exactly) {
						t.Errorf("%s beside %s: evaluate says %.12f, predict %.12f", r.target, r.corunners, r.predicted, p.NormalizedPerformance)
					}
					continue
				}
				pairs++
				if p := 1 / matrix.Slowdowns[place[r.target]][place[r.corunners]]; !(math.Abs(p-r.predicted) <= exactly) {
					t.Errorf("%s beside %s: evaluate says %.12f, matrix %.12f", r.target, r.corunners, r.predicted, p)
				}
			}
			if pairs != len(place)*len(place) || groups < 100 {
				t.Errorf("%d pairs of %d applications and %d groups were compared", pairs, len(place), groups)
			}
		})
	}
}
