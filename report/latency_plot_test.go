package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"bandmate.dev/bandmate/report"
)

func TestLatencyPlot(t *testing.T) {
	p := &report.LatencyPlot{Title: "redis beside triad", Quantile: "p99", Lines: []report.LatencyLine{
		{Name: "alone", Points: []report.LatencyPoint{{1000, 5e-4, true}, {9000, 2e-3, true}}},
		{Name: "beside", Points: []report.LatencyPoint{{1000, 6e-4, false}, {7000, 2.5e-3, false}, {9000, math.Inf(1), false}}},
	}}
	var text, csv, svg bytes.Buffer
	if err := p.Write(&text, report.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redis beside triad", "p99, ms", "load, requests per second", "alone", "beside", "8000"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if err := p.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	if want := "line,requestsPerSecond,seconds,measured\nalone,1000,0.0005,true\nalone,9000,0.002,true\nbeside,1000,0.0006,false\nbeside,7000,0.0025,false\n"; csv.String() != want {
		t.Errorf("got\n%swant\n%s", csv.String(), want)
	}
	if err := p.Picture().WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "alone ends at 9000, 2; beside ends at 7000, 2.5") {
		t.Errorf("%v in\n%s", err, svg.String())
	}
	var empty bytes.Buffer
	if err := (&report.LatencyPlot{Title: "nothing"}).Write(&empty, report.Options{}); err != nil || !strings.Contains(empty.String(), "nothing") {
		t.Errorf("%v %q", err, empty.String())
	}
}
