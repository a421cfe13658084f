package profiler

import (
	"math"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
)

func TestNewMapRefuses(t *testing.T) {
	point := func(change func(*v1alpha1.ProbePoint)) v1alpha1.ProbePoint {
		p := v1alpha1.ProbePoint{
			Probe: Reader, ReadShare: 1, Level: 0.5,
			InterfererBytesPerSecond: 20e9, AchievedBytesPerSecond: 19e9, RelativeSpeed: 0.7, Repeats: 3,
		}
		change(&p)
		return p
	}
	same := func(*v1alpha1.ProbePoint) {}
	for _, tt := range []struct {
		name      string
		points    []v1alpha1.ProbePoint
		sustained []v1alpha1.SustainedBandwidth
		want      []string
	}{
		{name: "empty", want: []string{"0 points", "bandmate machine"}},
		{name: "a single point", points: []v1alpha1.ProbePoint{point(same)}, want: []string{"at least 2 levels"}},
		{name: "the same point twice", points: []v1alpha1.ProbePoint{point(same), point(same)}, want: []string{"at least 2 levels"}},
		{
			name: "two regimes",
			points: []v1alpha1.ProbePoint{
				point(func(p *v1alpha1.ProbePoint) { p.Regime = "same-complex" }),
				point(func(p *v1alpha1.ProbePoint) { p.Regime = "cross-complex" }),
			},
			want: []string{"cross-complex and same-complex", "PointsInRegime"},
		},
		{
			name: "every fault at once",
			points: []v1alpha1.ProbePoint{
				point(same),
				point(func(p *v1alpha1.ProbePoint) { p.RelativeSpeed = math.NaN() }),
				point(func(p *v1alpha1.ProbePoint) { p.Probe, p.ReadShare, p.Level = "", 1.5, 0 }),
				point(func(p *v1alpha1.ProbePoint) {
					p.InterfererBytesPerSecond, p.AchievedBytesPerSecond, p.Spread = math.Inf(1), -1, new(-0.1)
				}),
			},
			sustained: []v1alpha1.SustainedBandwidth{{ReadShare: -1, BytesPerSecond: 0}},
			want: []string{
				"probeMap[1].relativeSpeed", "probeMap[2].probe", "probeMap[2].readShare", "probeMap[2].level",
				"probeMap[3].interfererBytesPerSecond", "probeMap[3].achievedBytesPerSecond", "probeMap[3].spread",
				"sustained[0].readShare", "sustained[0].bytesPerSecond",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewMap(tt.points, tt.sustained)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
		})
	}
}

func TestNewMapWarns(t *testing.T) {
	c := newContention(0, 1)
	full, sustained := c.calibrate(CalibrationGrid(false))
	keep := func(want func(v1alpha1.ProbePoint) bool) (kept []v1alpha1.ProbePoint) {
		for _, p := range full {
			if want(p) {
				kept = append(kept, p)
			}
		}
		return kept
	}
	change := func(change func(*v1alpha1.ProbePoint)) []v1alpha1.ProbePoint {
		changed := keep(func(v1alpha1.ProbePoint) bool { return true })
		for i := range changed {
			change(&changed[i])
		}
		return changed
	}
	for _, tt := range []struct {
		name   string
		points []v1alpha1.ProbePoint
		want   string
	}{
		{"sound", full, ""},
		{"one read share", keep(func(p v1alpha1.ProbePoint) bool { return p.ReadShare == 1 }), "one read share"},
		{"one probe", keep(func(p v1alpha1.ProbePoint) bool { return p.Probe == Reader }), "one probe"},
		{"noise", change(func(p *v1alpha1.ProbePoint) {
			if p.Level == 0.4 && p.ReadShare == 1 {
				p.RelativeSpeed = 0.3
			}
		}), "rises with traffic"},
		{"no contention", change(func(p *v1alpha1.ProbePoint) { p.RelativeSpeed = 0.99 }), "any traffic fits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := NewMap(tt.points, sustained)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(m.warnings, "\n"); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
}

// TestMapIgnoresOrderAndDuplicates builds the same map from shuffled and from
// doubled points.
func TestMapIgnoresOrderAndDuplicates(t *testing.T) {
	c := newContention(0.01, 3)
	points, sustained := c.calibrate(CalibrationGrid(false))
	_, _, readings := c.application()
	m, err := NewMap(points, sustained)
	if err != nil {
		t.Fatal(err)
	}
	want := infer(t, m, readings)
	for name, change := range map[string]func() []v1alpha1.ProbePoint{
		"shuffled": func() []v1alpha1.ProbePoint {
			p := append([]v1alpha1.ProbePoint(nil), points...)
			c.rng.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
			return p
		},
		"doubled": func() []v1alpha1.ProbePoint { return append(append([]v1alpha1.ProbePoint(nil), points...), points...) },
	} {
		m, err := NewMap(change(), sustained)
		if err != nil {
			t.Fatal(err)
		}
		got := infer(t, m, readings)
		if math.Abs(float64(got.Traffic.Total()/want.Traffic.Total())-1) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got.Traffic.Total(), want.Traffic.Total())
		}
	}
}

func TestPointsInRegime(t *testing.T) {
	points := []v1alpha1.ProbePoint{{Regime: "same-complex", Level: 0.1}, {Regime: "cross-complex", Level: 0.2}, {Level: 0.3}}
	got := PointsInRegime(points, "same-complex")
	if len(got) != 2 || got[0].Level != 0.1 || got[1].Level != 0.3 {
		t.Errorf("kept %+v, want those of the regime and of none", got)
	}
}

func TestMapWithoutSustained(t *testing.T) {
	c := newContention(0, 1)
	points, sustained := c.calibrate(CalibrationGrid(false))
	with, err := NewMap(points, sustained)
	if err != nil {
		t.Fatal(err)
	}
	without, err := NewMap(points, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, readings := c.application()
	a, b := infer(t, with, readings), infer(t, without, readings)
	if math.Abs(float64(a.Traffic.Total()/b.Traffic.Total())-1) > 1e-9 {
		t.Errorf("%v with sustained bandwidths, %v from the levels", a.Traffic.Total(), b.Traffic.Total())
	}
}

func TestRelativeSpeed(t *testing.T) {
	m := readReal(t).newMap(t)
	for _, tt := range []struct {
		gbs, share, want float64
	}{
		{0, 1, 1}, {16.26, 1, 0.6363}, {1000, 1, 0.5749}, {22.13, 0.75, 0.64}, {16.26, 3, 0.6363},
	} {
		if got := m.probes[Reader].byAchieved.at(1e9*tt.gbs, tt.share); math.Abs(got-tt.want) > 0.01 {
			t.Errorf("reader beside %v GB/s at %v: %v, want %v", tt.gbs, tt.share, got, tt.want)
		}
	}
	if low, high := m.ReadShares(); low != 0.5 || high != 1 {
		t.Errorf("read shares %v to %v", low, high)
	}
}
