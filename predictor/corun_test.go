package predictor_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
)

// corunFolder holds what hack/evaluate-communication measured: applications that
// compute and applications that send over one rate-limited link, and all pairs
// in which somebody sends.
const corunFolder = "../docs/results/models/communication"

// corun is a measured pair, in normalized performance.
type corun struct {
	target, corunner string
	measured         float64
}

type corunSet struct {
	machine  *v1alpha1.MachineProfile
	profiles map[string]*v1alpha1.ApplicationProfile
	pairs    []corun
}

func readCoruns(t *testing.T) corunSet {
	t.Helper()
	s := corunSet{profiles: map[string]*v1alpha1.ApplicationProfile{}}
	files, err := filepath.Glob(filepath.Join(corunFolder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no profiles in %s: %v", corunFolder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o, err := v1alpha1.Decode(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		switch o := o.(type) {
		case *v1alpha1.ApplicationProfile:
			s.profiles[o.Name] = o
		case *v1alpha1.MachineProfile:
			s.machine = o
		}
	}
	file, err := os.Open(filepath.Join(corunFolder, "corun.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		measured, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		s.pairs = append(s.pairs, corun{row[0], row[1], measured})
	}
	return s
}

// changed compiles an application after a change to what its profile says of
// communication.
func (s corunSet) changed(t *testing.T, name string, change func(*v1alpha1.ApplicationProfileSpec)) *predictor.Application {
	t.Helper()
	p := s.profiles[name].DeepCopy()
	change(&p.Spec)
	a, err := predictor.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	m, err := communication.NewMachine(s.machine)
	if err != nil {
		t.Fatal(err)
	}
	return a.WithMachine(m)
}

// apartProfile is a profile of what waiting computes, measured without its
// messages; what it sends is declared.
const apartProfile = "waiting-apart"

// The rules by which memory and network could combine.
const (
	combined = "combined"
	memory   = "memory alone"
	twice    = "the communication's traffic counted again"
	sum      = "everyone taken to wait"
	longer   = "everyone taken to compute meanwhile"
	product  = "product of memory and network"
	apart    = "waiting from a profile that is apart"
)

func (s corunSet) predict(t *testing.T, rule string, pair corun) float64 {
	t.Helper()
	change := func(spec *v1alpha1.ApplicationProfileSpec) {
		c := spec.Communication
		switch {
		case rule == memory:
			spec.Communication = nil
		case c == nil:
		case rule == twice:
			spec.Contentiousness.ReadBytesPerSecond += *c.SentBytesPerSecond
			spec.Contentiousness.WriteBytesPerSecond += *c.ReceivedBytesPerSecond
		case rule == sum:
			c.Overlapped = new(false)
		case rule == longer:
			c.Overlapped = new(true)
		}
	}
	if rule == apart {
		rename := func(name string) string {
			if name == "waiting" {
				return apartProfile
			}
			return name
		}
		pair.target, pair.corunner = rename(pair.target), rename(pair.corunner)
	}
	target, corunner := s.changed(t, pair.target, change), s.changed(t, pair.corunner, change)
	p, err := predictor.Predict(target, []*predictor.Application{corunner}, predictor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rule == product && target.Communication() != nil {
		members := []communication.Member{target.Member(1, ""), corunner.Member(1, "")}
		alone := new(communication.Combiner).Combine(nil, members)[0].Slowdown
		return 1 / float64(p.Parts.MemorySlowdown*alone)
	}
	return float64(p.NormalizedPerformance)
}

// Pairs by who is there.
const (
	bothSend = "both send"
	oneSends = "one sends"
)

func (s corunSet) kind(p corun) string {
	if s.profiles[p.target].Spec.Communication != nil && s.profiles[p.corunner].Spec.Communication != nil {
		return bothSend
	}
	return oneSends
}

// errors returns how far predictions by a rule are off, in points of normalized
// performance, for the pairs of a kind, or of any.
func (s corunSet) errors(t *testing.T, rule string, wanted func(corun) bool) []float64 {
	t.Helper()
	var errs []float64
	for _, p := range s.pairs {
		if wanted(p) {
			errs = append(errs, 100*math.Abs(s.predict(t, rule, p)-p.measured))
		}
	}
	return errs
}

// TestMeasuredCoruns holds the combination to real co-runs, by the errors that
// docs/results/models.md states, and to being better than the other rules where
// they differ.
func TestMeasuredCoruns(t *testing.T) {
	s := readCoruns(t)
	means, most := map[string]float64{}, map[string]float64{}
	for _, rule := range []string{combined, memory, twice, sum, longer, product, apart} {
		for _, kind := range []string{bothSend, oneSends} {
			errs := s.errors(t, rule, func(p corun) bool { return s.kind(p) == kind })
			means[rule+kind], most[rule+kind] = mean(errs), slices.Max(errs)
			t.Logf("%-45s %-10s %3d pairs: mean %5.2f, maximum %5.2f points", rule, kind, len(errs), mean(errs), slices.Max(errs))
		}
	}
	for _, p := range s.pairs {
		if s.kind(p) == bothSend {
			t.Logf("%-10s beside %-10s %.3f measured, %.3f predicted, %.3f by memory alone, %.3f where all wait, %.3f apart",
				p.target, p.corunner, p.measured, s.predict(t, combined, p), s.predict(t, memory, p), s.predict(t, sum, p), s.predict(t, apart, p))
		}
	}
	atMost := func(what string, got, limit float64) {
		t.Helper()
		if got > limit {
			t.Errorf("%s: %.2f points, stated are %.2f", what, got, limit)
		}
	}
	atMost("combined, mean", means[combined+bothSend], 6.5)
	atMost("where all wait, mean", means[sum+bothSend], 2.1)
	atMost("where all wait, maximum", most[sum+bothSend], 4.0)
	atMost("beside one that does not send, mean", means[combined+oneSends], 3.3)
	atMost("where only one sends nothing changes", means[combined+oneSends]-means[memory+oneSends], 1e-9)
	for _, worse := range []string{memory, longer, product} {
		if means[worse+bothSend] <= means[combined+bothSend] {
			t.Errorf("%s: mean %.2f points, no worse than %.2f of the combination", worse, means[worse+bothSend], means[combined+bothSend])
		}
	}
	waiting := s.errors(t, apart, func(p corun) bool { return s.kind(p) == bothSend && p.target == "waiting" })
	atMost("waiting, from a profile measured apart, mean", mean(waiting), 3.0)
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
