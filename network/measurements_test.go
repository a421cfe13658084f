package network

import (
	"bytes"
	"strings"
	"testing"
)

func TestMeasuredRoundTrip(t *testing.T) {
	conflicts := []Measured{
		{"two", parse(t, "a:0-1 b:0-2"), []float64{1.5, 1.25}},
		{"in", parse(t, "a:0-2 b:1-2"), []float64{2, 1.75}},
	}
	var b bytes.Buffer
	if err := WriteMeasured(&b, conflicts, 0.5); err != nil {
		t.Fatal(err)
	}
	again, err := ReadMeasured(&b, "x.csv")
	if err != nil || len(again) != 2 || again[1].Conflict[1] != conflicts[1].Conflict[1] || again[0].Penalties[1] != 1.25 {
		t.Fatalf("%+v, %v", again, err)
	}
}

// A beta that no measurement depends on is not made up.
func TestFitDependsOnMeasurements(t *testing.T) {
	apart := []Measured{{"apart", parse(t, "a:0-1 b:2-0"), []float64{1, 1}}}
	if f, err := FitGigabitEthernet(apart); err == nil || !strings.Contains(err.Error(), "depends on beta") {
		t.Errorf("%+v, %v", f, err)
	}
	arriving := []Measured{{"arriving", parse(t, "a:0-2 b:1-2"), []float64{1.5, 1.5}}}
	f, err := FitGigabitEthernet(arriving)
	if err != nil || f.Model.Beta < 0.749 || f.Model.Beta > 0.751 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestMeasuredRefused(t *testing.T) {
	const header = "conflict,communication,from,to,seconds,aloneSeconds\n"
	for _, test := range []struct{ text, want string }{
		{"", "x.csv:1:1: empty: want a header line"},
		{header, "no measured conflicts"},
		{"conflict,from\n", `x.csv:1:1: no column "communication"`},
		{header + "x,a,0,0,1,1\n", "x.csv:2:7: to: node 0 is where it leaves"},
		{header + "x,a,0,1,0,1\n", "x.csv:2:9: seconds: 0: want a number above 0"},
		{header + "x,a,0,1,1,\n", `x.csv:2:11: aloneSeconds: "" is not a number`},
		{header + "x,a,0,1,1,1\nx,a,0,2,1,1\n", `both named "a"`},
		{header + "x,a,0\n", "wrong number of fields"},
	} {
		if _, err := ReadMeasured(strings.NewReader(test.text), "x.csv"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func FuzzReadMeasured(f *testing.F) {
	f.Add([]byte("conflict,communication,from,to,seconds,aloneSeconds\nx,a,0,1,1.5,1\nx,b,0,2,1.5,1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadMeasured(bytes.NewReader(data), "x.csv")
		if err != nil || len(m) > 20 {
			return
		}
		_, _ = FitGigabitEthernet(m)
	})
}
