package report_test

import (
	"fmt"
	"math"
	"os"

	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

func ExampleTable() {
	t := report.Table{Columns: []report.Column{
		{Title: "application", Key: "target"},
		{Title: "slowdown", Numeric: true},
		{Title: "bandwidth", Key: "bytesPerSecond", Numeric: true},
	}}
	t.Add(report.Text("triad"), report.Number(report.Slowdown(1.492), 1.492), report.Number(report.Bandwidth(57.9e9), 57.9e9))
	t.Add(report.Text("fma"), report.Number(report.Slowdown(1), 1), report.Number("", math.NaN()))
	_ = t.Write(os.Stdout, report.Options{Unicode: true})
	fmt.Println()
	_ = t.WriteCSV(os.Stdout)
	// Output:
	// application  slowdown  bandwidth
	// ────────────────────────────────
	// triad           1.49×  57.9 GB/s
	// fma             1.00×          –
	//
	// target,slowdown,bytesPerSecond
	// triad,1.492,5.79e+10
	// fma,1,
}

func ExampleHeatMap() {
	names := []string{"triad", "fma"}
	known := [][]units.Slowdown{{1.86, 1.01}, {1, 1}}
	m := report.HeatMap{
		Targets:   names,
		Corunners: names,
		Slowdown:  func(i, j int) units.Slowdown { return known[i][j] },
	}
	_ = m.Write(os.Stdout, report.Options{})
	// Output:
	// Slowdown of the application in the row beside the one in the column
	//        triad   fma
	//  triad  1.86  1.01
	//  fma    1.00  1.00
}
