package profiler

import "testing"

func TestCalibrationGridCost(t *testing.T) {
	const samplesPerSecond = 10
	for _, tt := range []struct {
		quick   bool
		seconds float64
	}{{false, 15}, {true, 4}} {
		grid := CalibrationGrid(tt.quick)
		beside := 0
		for _, p := range grid {
			beside += p.Repeats * len(Probes())
		}
		if got := float64(beside+(beside+1)/2) / samplesPerSecond; got > tt.seconds {
			t.Errorf("quick %v: %.1f s, want at most %v s", tt.quick, got, tt.seconds)
		}
		unpaced := map[float64]bool{}
		for _, p := range grid {
			if !p.ReadShare.Valid() || !(p.Level > 0 && p.Level <= 1) || p.Repeats < 1 {
				t.Errorf("quick %v: no setting: %+v", tt.quick, p)
			}
			if p.Level == 1 {
				unpaced[float64(p.ReadShare)] = true
			}
		}
		for _, p := range grid {
			if !unpaced[float64(p.ReadShare)] {
				t.Errorf("quick %v: read share %v is never unpaced", tt.quick, p.ReadShare)
			}
		}
	}
}

// TestCalibrationGridRecovers infers applications of known traffic on a machine
// of another make than the inference assumes, with noise in the map and in the
// readings, and checks the accuracy that CalibrationGrid claims and that the
// 90% intervals hold the truth about that often.
func TestCalibrationGridRecovers(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	for _, quick := range []bool{false, true} {
		r, err := newContention(0.015, 7).recover(CalibrationGrid(quick), 15, 12)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("quick %v: bandwidth %.3f, read share %.3f, covered %.2f", quick, r.bandwidth, r.share, r.covered)
		if r.bandwidth > 0.11 || r.share > 0.14 {
			t.Errorf("quick %v: error %.3f of the maximum and %.3f in read share, want 0.11 and 0.14", quick, r.bandwidth, r.share)
		}
		if r.covered < 0.85 || r.covered > 0.985 {
			t.Errorf("quick %v: the 90%% intervals hold the truth in %.3f of the cases", quick, r.covered)
		}
	}
}

// TestModulatedReadings is the same with the noise of readings that were taken within
// one run.
func TestModulatedReadings(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	r, err := newContention(0.003, 7).recover(CalibrationGrid(false), 15, 40)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("bandwidth %.3f, read share %.3f, covered %.2f, uncertainty of weak applications %.2f", r.bandwidth, r.share, r.covered, r.weak)
	if r.covered < 0.85 || r.covered > 0.985 {
		t.Errorf("the 90%% intervals hold the truth in %.3f of the cases", r.covered)
	}
}

// TestLittleTrafficIsCommon is the same with applications as people run them, most of which
// cause less traffic than such noise hides.
func TestLittleTrafficIsCommon(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	c := newContention(0.03, 7)
	c.common = true
	r, err := c.recover(CalibrationGrid(false), 15, 40)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("bandwidth %.3f, covered %.2f, quiet applications %.1f times their traffic", r.bandwidth, r.covered, r.quiet)
	if r.quiet > 4 {
		t.Errorf("quiet applications are estimated at %.1f times their traffic", r.quiet)
	}
	if r.covered < 0.85 || r.covered > 0.985 {
		t.Errorf("the 90%% intervals hold the truth in %.3f of the cases", r.covered)
	}
}

// TestLessNoiseIsMoreAccurate guards against an estimate that ignores its data.
func TestLessNoiseIsMoreAccurate(t *testing.T) {
	precise, err := newContention(0.001, 7).recover(CalibrationGrid(false), 4, 15)
	if err != nil {
		t.Fatal(err)
	}
	noisy, err := newContention(0.05, 7).recover(CalibrationGrid(false), 4, 15)
	if err != nil {
		t.Fatal(err)
	}
	if precise.bandwidth*1.25 > noisy.bandwidth {
		t.Errorf("error %.3f without noise, %.3f with 5%%", precise.bandwidth, noisy.bandwidth)
	}
	if noisy.covered < 0.80 {
		t.Errorf("with 5%% noise the 90%% intervals hold the truth in %.2f of the cases", noisy.covered)
	}
}
