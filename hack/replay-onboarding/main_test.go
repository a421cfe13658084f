package main

import (
	"os"
	"testing"

	"bandmate.dev/bandmate/predictor/evaluation"
)

// Adaptive onboarding has to be worth it: within its budget, and hardly worse than
// the whole grid. Whether the page is up to date shows in hack/generate.sh, which
// writes all of it.
func TestAdaptiveKeepsItsBudget(t *testing.T) {
	d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	d.Groups = nil
	scores := map[string]score{}
	for _, w := range ways() {
		if w.name != "2 × 4, one run each" && w.name != "adaptive" {
			continue
		}
		if scores[w.name], err = replay(d, w, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	whole, ours := scores["2 × 4, one run each"], scores["adaptive"]
	if most := max(ours.sensitive.most, ours.insensitive.most); !(most > 0 && most <= 4) {
		t.Errorf("adaptive costs up to %.2f solo times, want at most 4", most)
	}
	if whole.sensitive.most <= ours.sensitive.most {
		t.Errorf("the whole grid costs %.2f, adaptive %.2f", whole.sensitive.most, ours.sensitive.most)
	}
	if !(ours.mean > 0 && ours.mean <= whole.mean+0.1) {
		t.Errorf("mean error %.2f, of the whole grid %.2f", ours.mean, whole.mean)
	}
}

// One disturbed run must not spoil the model of the memory for everyone: without
// the second start of predictor/memory, draw 12 of the one platform and draw 2 of the
// other were off by 50 points and more.
func TestAdaptiveIsSteadyUnderNoise(t *testing.T) {
	const noise, worst = 0.01, 20
	for platform, draws := range map[string][]uint64{"ddr3x4": {9, 10, 11, 12}, "ddr4x2": {1, 2}} {
		t.Run(platform, func(t *testing.T) {
			d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/" + platform))
			if err != nil {
				t.Fatal(err)
			}
			d.Groups = nil
			for _, seed := range draws {
				s, err := replay(d, way{"adaptive", adaptive}, noise, seed)
				if err != nil {
					t.Fatal(err)
				}
				if !(s.most > 0 && s.most <= worst) {
					t.Errorf("draw %d: off by up to %.1f points, want at most %v", seed, s.most, worst)
				}
			}
		})
	}
}

// The same draw gives the same replay.
func TestReplayIsRepeatable(t *testing.T) {
	d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	d.Apps, d.Pairs, d.Groups = d.Apps[:6], pairsAmong(d, 6), nil
	first, err := replay(d, ways()[2], 0.02, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := replay(d, ways()[2], 0.02, 1)
	if err != nil || first != again {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	other, err := replay(d, ways()[2], 0.02, 2)
	if err != nil || first == other {
		t.Errorf("another draw of the noise gave the same: %+v, %v", other, err)
	}
}

// pairsAmong returns the pairs of the first n applications.
func pairsAmong(d *evaluation.Dataset, n int) []evaluation.Pair {
	among := map[string]bool{}
	for i := range n {
		among[d.Apps[i].Name] = true
	}
	var pairs []evaluation.Pair
	for _, p := range d.Pairs {
		if among[p.Target] && among[p.Corunner] {
			pairs = append(pairs, p)
		}
	}
	return pairs
}
