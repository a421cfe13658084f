package doctor_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/units"
)

// checks are of traffic like that of `doctor --verify`, as counters would tell
// it that change it.
func checks(splitsReadWrite bool, change func(units.Traffic) units.Traffic) []doctor.Check {
	background := units.Traffic{Read: 80e6, Write: 20e6}
	var all []doctor.Check
	for _, total := range []units.Bandwidth{3e9, 7e9} {
		for _, share := range []units.ReadShare{1, 0.75, 0.5} {
			made := units.TrafficOf(total, share)
			all = append(all, doctor.Check{
				Asked: made, Made: made, SplitsReadWrite: splitsReadWrite,
				Counted: change(made).Add(background), Background: background,
			})
		}
	}
	return all
}

func times(factor float64) func(units.Traffic) units.Traffic {
	return func(t units.Traffic) units.Traffic { return t.Scale(factor) }
}

func reads(factor float64) func(units.Traffic) units.Traffic {
	return func(t units.Traffic) units.Traffic {
		return units.Traffic{Read: t.Read * units.Bandwidth(factor), Write: t.Write}
	}
}

func writes(factor float64) func(units.Traffic) units.Traffic {
	return func(t units.Traffic) units.Traffic {
		return units.Traffic{Read: t.Read, Write: t.Write * units.Bandwidth(factor)}
	}
}

func swapped(t units.Traffic) units.Traffic { return units.Traffic{Read: t.Write, Write: t.Read} }

// faults are what counters may do to traffic, and its name.
var faults = []struct {
	name   string
	change func(units.Traffic) units.Traffic
	cause  doctor.Cause
	// hidden says that totals alone do not show it as what it is.
	hidden bool
}{
	{"right", times(1), doctor.Agreement, false},
	{"two per cent too much", times(1.02), doctor.Agreement, false},
	{"counted on two sockets", times(2), doctor.DoubleCounting, false},
	{"counted by three drivers", times(3.02), doctor.DoubleCounting, false},
	{"one sub-channel of two", times(0.5), doctor.MissingChannels, false},
	{"three channels of four", times(0.75), doctor.MissingChannels, false},
	{"seven channels of eight", times(0.875), doctor.MissingChannels, false},
	{"one channel of eight", times(0.125), doctor.MissingChannels, false},
	{"eleven channels of twelve", times(11.0 / 12), doctor.MissingChannels, false},
	{"counts taken for lines", times(64), doctor.WrongScale, false},
	{"lines taken for bytes", times(1. / 64), doctor.WrongScale, false},
	{"accesses of 32 bytes", times(32), doctor.WrongScale, false},
	{"a scale 16 times too small", times(1. / 16), doctor.WrongScale, false},
	{"bits", times(8), doctor.WrongScale, false},
	{"MiB", times(1.048576), doctor.WrongScale, false},
	{"GB for GiB", times(1 / 1.073741824), doctor.WrongScale, false},
	{"a factor of no meaning", times(1.37), doctor.Unknown, false},
	{"swapped", swapped, doctor.Swapped, true},
	{"writes missing", writes(0), doctor.WritesMissing, true},
	{"reads missing", reads(0), doctor.ReadsMissing, true},
	{"writes of half the size", writes(0.5), doctor.WrongScale, true},
	{"reads of twice the size", reads(2), doctor.WrongScale, true},
	{"nothing", times(0), doctor.NothingCounted, false},
}

func TestDiagnose(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			d := doctor.Diagnose(checks(true, f.change))
			if d.Cause != f.cause {
				t.Errorf("cause %s (%s), want %s", d.Cause, d.Detail, f.cause)
			}
			if explained := d.Detail != "" && d.Remedy != ""; explained == (f.cause == doctor.Agreement) {
				t.Errorf("detail %q, remedy %q of cause %s", d.Detail, d.Remedy, d.Cause)
			}
			if total := doctor.Diagnose(checks(false, f.change)); !f.hidden && total.Cause != f.cause {
				t.Errorf("from totals alone: cause %s, want %s", total.Cause, f.cause)
			}
		})
	}
}

// TestDiagnoseNoise changes the traffic from check to check.
func TestDiagnoseNoise(t *testing.T) {
	all := checks(true, times(1))
	for i := range all {
		all[i].Counted.Read += units.Bandwidth(i%3) * 1.5e9
	}
	if d := doctor.Diagnose(all); d.Cause != doctor.Noise {
		t.Errorf("cause %s (%s), want %s", d.Cause, d.Detail, doctor.Noise)
	}
}

// TestDiagnoseFixedCounters counts the same whatever the traffic.
func TestDiagnoseFixedCounters(t *testing.T) {
	all := checks(true, times(0))
	for i := range all {
		all[i].Counted = units.Traffic{Read: 6.4e9, Write: 3.2e9}
		all[i].Background = all[i].Counted
	}
	if d := doctor.Diagnose(all); d.Cause != doctor.NothingCounted {
		t.Errorf("cause %s (%s), want %s", d.Cause, d.Detail, doctor.NothingCounted)
	}
}

func TestDiagnoseNothingToCompare(t *testing.T) {
	for name, all := range map[string][]doctor.Check{
		"no checks":       nil,
		"no traffic made": {{Counted: units.Traffic{Read: 1e9}}},
		"not a number":    {{Made: units.Traffic{Read: 1e9}, Counted: units.Traffic{Read: units.Bandwidth(math.NaN())}}},
		"infinite":        {{Made: units.Traffic{Read: 1e9}, Counted: units.Traffic{Read: units.Bandwidth(math.Inf(1))}}},
	} {
		if d := doctor.Diagnose(all); d.Cause != doctor.Unknown {
			t.Errorf("%s: cause %s, want %s", name, d.Cause, doctor.Unknown)
		}
	}
}

// TestDiagnoseUnderNoise measures each check a little wrong: that changes no
// cause.
func TestDiagnoseUnderNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(faults).Draw(t, "fault")
		all := checks(true, f.change)
		for i := range all {
			off := rapid.Float64Range(0.996, 1.004)
			all[i].Counted.Read *= units.Bandwidth(off.Draw(t, "reads"))
			all[i].Counted.Write *= units.Bandwidth(off.Draw(t, "writes"))
		}
		if d := doctor.Diagnose(all); d.Cause != f.cause {
			t.Errorf("%s: cause %s (%s), want %s", f.name, d.Cause, d.Detail, f.cause)
		}
	})
}

// TestDiagnoseIgnoresSize checks that only ratios matter, and that
// agreement means that every check agrees.
func TestDiagnoseIgnoresSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := make([]doctor.Check, rapid.IntRange(1, 8).Draw(t, "checks"))
		larger := make([]doctor.Check, len(all))
		factor := rapid.SampledFrom([]float64{1. / 1024, 2, 4096}).Draw(t, "factor") // exact
		agree := true
		for i := range all {
			flow := func(name string) units.Traffic {
				rate := rapid.Float64Range(1e6, 1e10)
				return units.Traffic{Read: units.Bandwidth(rate.Draw(t, name)), Write: units.Bandwidth(rate.Draw(t, name))}
			}
			c := doctor.Check{Made: flow("made"), Counted: flow("counted"), Background: flow("background"), SplitsReadWrite: rapid.Bool().Draw(t, "reads told")}
			all[i], larger[i] = c, c
			larger[i].Made, larger[i].Counted, larger[i].Background = c.Made.Scale(factor), c.Counted.Scale(factor), c.Background.Scale(factor)
			agree = agree && c.Agrees()
		}
		d := doctor.Diagnose(all)
		if (d.Cause == doctor.Agreement) != agree {
			t.Errorf("cause %s; all agree: %v", d.Cause, agree)
		}
		if l := doctor.Diagnose(larger); l.Cause != d.Cause {
			t.Errorf("cause %s, of %g times the traffic %s", d.Cause, factor, l.Cause)
		}
	})
}

func TestCheckAgrees(t *testing.T) {
	made := units.Traffic{Read: 3e9, Write: 1e9}
	for name, c := range map[string]struct {
		counted units.Traffic
		told    bool
		want    bool
	}{
		"equal":                  {made, true, true},
		"3% less":                {made.Scale(0.971), true, true},
		"more than 3% less":      {made.Scale(0.969), true, false},
		"share 2 points off":     {units.TrafficOf(4e9, 0.769), true, true},
		"share further off":      {units.TrafficOf(4e9, 0.775), true, false},
		"share not told":         {units.Traffic{Read: 4e9}, false, true},
		"nothing":                {units.Traffic{}, true, false},
		"less than without load": {units.Traffic{Read: -1e9}, true, false},
	} {
		check := doctor.Check{Made: made, Counted: c.counted.Add(units.Traffic{Read: 2e8, Write: 1e8}), Background: units.Traffic{Read: 2e8, Write: 1e8}, SplitsReadWrite: c.told}
		if got := check.Agrees(); got != c.want {
			t.Errorf("%s: agrees %v, want %v (traffic %+.3f)", name, got, c.want, check.TrafficError())
		}
	}
}

func TestCheckReadShare(t *testing.T) {
	made := units.Traffic{Read: 4e9}
	for name, c := range map[string]struct {
		check doctor.Check
		want  units.ReadShare
		ok    bool
	}{
		"counted":                    {doctor.Check{Made: made, Counted: units.Traffic{Read: 3e9, Write: 1e9}, SplitsReadWrite: true}, 0.75, true},
		"fewer writes than before":   {doctor.Check{Made: made, Counted: made, Background: units.Traffic{Write: 1e6}, SplitsReadWrite: true}, 1, true},
		"not told":                   {doctor.Check{Made: made, Counted: made}, 0, false},
		"a rest of the background":   {doctor.Check{Made: made, Counted: units.Traffic{Read: 5e6, Write: 1e6}, SplitsReadWrite: true}, 0, false},
		"nothing but what was there": {doctor.Check{Made: made, Counted: made, Background: made, SplitsReadWrite: true}, 0, false},
	} {
		if got, ok := c.check.ReadShare(); got != c.want || ok != c.ok {
			t.Errorf("%s: read share %v, %v; want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
}
