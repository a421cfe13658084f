package units

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseBandwidth(t *testing.T) {
	for _, test := range []struct {
		text string
		want Bandwidth
	}{
		{"12GB/s", 12e9},
		{" 1.5 GiB/s ", 1.5 * (1 << 30)},
		{"900MB/s", 900e6},
		{"900MiB/s", 900 * (1 << 20)},
		{"64kB/s", 64e3},
		{"1TB/s", 1e12},
		{"7B/s", 7},
		{"0B/s", 0},
	} {
		got, err := ParseBandwidth(test.text)
		if err != nil || got != test.want {
			t.Errorf("%q: %v, %v; want %v", test.text, float64(got), err, float64(test.want))
		}
	}
	for _, text := range []string{"", "12", "GB/s", "-1GB/s", "NaNGB/s", "infGB/s", "1e400GB/s", "12Gb/s", "12GB", "1,5GB/s"} {
		if got, err := ParseBandwidth(text); err == nil || !strings.Contains(err.Error(), "12GB/s") {
			t.Errorf("%q: %v, %v; want an error with an example", text, float64(got), err)
		}
	}
}

func TestBandwidthString(t *testing.T) {
	for _, test := range []struct {
		b    Bandwidth
		want string
	}{
		{0, "0.00 B/s"},
		{999, "999 B/s"},
		{999.6, "1.00 kB/s"},
		{12.34e9, "12.3 GB/s"},
		{999.4e6, "999 MB/s"},
		{999.9e6, "1.00 GB/s"},
		{9.996e9, "10.0 GB/s"},
		{1.234e12, "1234 GB/s"},
	} {
		if got := test.b.String(); got != test.want {
			t.Errorf("%v: %q, want %q", float64(test.b), got, test.want)
		}
	}
}

func TestBandwidthRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bandwidth(rapid.Float64Range(1, 1e13).Draw(t, "bytes per second"))
		got, err := ParseBandwidth(b.String())
		if err != nil || math.Abs(float64(got/b)-1) > 0.006 {
			t.Fatalf("%v → %q → %v, %v", float64(b), b.String(), float64(got), err)
		}
	})
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]ReadShare{"75%": 0.75, "0.75": 0.75, " 100 % ": 1, "0": 0, "1": 1} {
		if got, err := ParseReadShare(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, float64(got), err, float64(want))
		}
	}
	for _, text := range []string{"", "%", "101%", "75", "-1%", "NaN", "nan%", "half"} {
		if got, err := ParseReadShare(text); err == nil {
			t.Errorf("%q: %v, want an error", text, float64(got))
		}
	}
}

func TestTraffic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := Bandwidth(rapid.Float64Range(1, 1e12).Draw(t, "total"))
		share := ReadShare(rapid.Float64Range(0, 1).Draw(t, "share"))
		traffic := TrafficOf(total, share)
		got, ok := traffic.ReadShare()
		if !ok || math.Abs(float64(got-share)) > 1e-9 || math.Abs(float64(traffic.Total()/total)-1) > 1e-9 {
			t.Fatalf("%+v: total %v share %v", traffic, traffic.Total(), got)
		}
		if half := traffic.Scale(0.5).Add(traffic.Scale(0.5)); math.Abs(float64(half.Total()/total)-1) > 1e-9 {
			t.Fatalf("two halves make %v of %v", half.Total(), total)
		}
	})
	if _, ok := (Traffic{}).ReadShare(); ok {
		t.Error("no traffic has a read share")
	}
}

func TestSlowdown(t *testing.T) {
	for s, want := range map[Slowdown]string{1: "1.00×", 1.1: "1.10×", 1.15: "1.15×", 1.152: "1.152×", 12.5: "12.50×"} {
		if got := s.Exact(); got != want {
			t.Errorf("%v: %s, want %s", float64(s), got, want)
		}
	}
	if s := NormalizedPerformance(0.5).Slowdown(); s != 2 || s.NormalizedPerformance() != 0.5 || s.String() != "2.00×" {
		t.Errorf("half the speed is %v", s)
	}
	if s := NormalizedPerformance(0).Slowdown(); !math.IsInf(float64(s), 1) {
		t.Errorf("standing still is %v", s)
	}
	if Bandwidth(math.NaN()).Valid() || Bandwidth(math.Inf(1)).Valid() || Bandwidth(-1).Valid() || ReadShare(math.NaN()).Valid() {
		t.Error("not a quantity, but valid")
	}
}

func FuzzParseBandwidth(f *testing.F) {
	f.Add("12GB/s")
	f.Add("1e308GiB/s")
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := ParseBandwidth(text); err == nil && !b.Valid() {
			t.Fatalf("%q: %v", text, float64(b))
		}
	})
}

func FuzzParseShare(f *testing.F) {
	f.Add("75%")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseShare(text); err == nil && !(s >= 0 && s <= 1) {
			t.Fatalf("%q: %v", text, s)
		}
	})
}
