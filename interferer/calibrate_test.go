package interferer

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bandmate.dev/bandmate/units"
)

// script is an interferer whose samples achieve given bandwidths, one after the
// other.
type script struct {
	rates   []units.Bandwidth
	applied []Setting
	fault   error
	// without is the number of samples during which no thread has a CPU.
	without int

	sample   int
	counters Counters
	started  bool
}

func (s *script) Apply(setting Setting) error {
	s.applied = append(s.applied, setting)
	if setting.Mode == Idle {
		return nil
	}
	return s.fault
}

// Counters is called before and after each sample.
func (s *script) Counters() Counters {
	if s.started {
		if s.without > 0 {
			s.without--
			s.started = false
			return s.counters
		}
		s.counters.Time += time.Second
		s.counters.ReadBytes += uint64(s.rates[s.sample%len(s.rates)])
		s.sample++
	}
	s.started = !s.started
	return s.counters
}

func TestCalibrate(t *testing.T) {
	reads, half := Setting{ReadShare: 1, Bandwidth: 5}, Setting{ReadShare: 0.5, Pattern: Random, Mode: Spin}
	s := &script{rates: []units.Bandwidth{100, 10, 12, 104, 102, 14}}
	got, err := calibrate(t.Context(), s, []Setting{reads, half}, 3, time.Microsecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The order alternates: 100 and 10, 12 and 104, 102 and 14.
	want := []Sustained{
		{ReadShare: 1, Pattern: Sequential, Bandwidth: 102, RelativeSpread: 2. / 102, Repeats: 3},
		{ReadShare: 0.5, Pattern: Random, Bandwidth: 12, RelativeSpread: 2. / 12, Repeats: 3},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
	for _, applied := range s.applied[:6] {
		if applied.Mode != Stream || applied.Bandwidth != 0 {
			t.Errorf("applied %+v, want an unpaced stream", applied)
		}
	}
	if last := s.applied[len(s.applied)-1]; last.Mode != Idle {
		t.Errorf("left %+v behind, want idle", last)
	}
}

func TestCalibrateSpreadOfOneRepeatIsUnknown(t *testing.T) {
	s := &script{rates: []units.Bandwidth{100}}
	got, err := calibrate(t.Context(), s, []Setting{{ReadShare: 1}}, 1, time.Microsecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(got[0].RelativeSpread) || got[0].Bandwidth != 100 {
		t.Errorf("got %+v", got[0])
	}
}

func TestCalibrateTakesDiscardedSamplesAgain(t *testing.T) {
	s := &script{rates: []units.Bandwidth{1, 100, 2, 104}}
	runs := 0
	keep := func(_ context.Context, run func() error) (bool, error) {
		runs++
		return runs%2 == 0, run()
	}
	got, err := calibrate(t.Context(), s, []Setting{{ReadShare: 1}}, 2, time.Microsecond, keep)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Bandwidth != 102 || got[0].Repeats != 2 || runs != 4 {
		t.Errorf("got %+v in %d runs, want 102 of 2 repeats in 4", got[0], runs)
	}
}

func TestCalibrateFailures(t *testing.T) {
	broken := errors.New("broken")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(_ context.Context, run func() error) (bool, error) { return false, run() }
	skip := func(context.Context, func() error) (bool, error) { return true, nil }
	tests := []struct {
		name    string
		ctx     context.Context
		source  script
		repeats int
		each    time.Duration
		keep    func(context.Context, func() error) (bool, error)
		want    error
	}{
		{"no repeats", t.Context(), script{}, 0, time.Second, nil, nil},
		{"no time", t.Context(), script{}, 1, 0, nil, nil},
		{"interferer fails", t.Context(), script{fault: broken}, 1, time.Microsecond, nil, broken},
		{"canceled", canceled, script{}, 1, time.Hour, nil, context.Canceled},
		{"never kept", t.Context(), script{}, 1, time.Microsecond, never, nil},
		{"kept but not run", t.Context(), script{}, 1, time.Microsecond, skip, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.source.rates = []units.Bandwidth{1}
			got, err := calibrate(test.ctx, &test.source, []Setting{{ReadShare: 1}}, test.repeats, test.each, test.keep)
			if err == nil || got != nil {
				t.Fatalf("got %+v, %v; want an error", got, err)
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if len(test.source.applied) > 0 && !slices.ContainsFunc(test.source.applied, func(s Setting) bool { return s.Mode == Idle }) {
				t.Error("left traffic behind")
			}
		})
	}
}

func TestCalibrateWithoutCPU(t *testing.T) {
	s := &script{rates: []units.Bandwidth{100}, without: 3}
	got, err := calibrate(t.Context(), s, []Setting{{ReadShare: 1}}, 1, time.Microsecond, nil)
	if err != nil || got[0].Bandwidth != 100 {
		t.Errorf("got %+v, %v", got, err)
	}
	s.without = maxDiscards
	if _, err := calibrate(t.Context(), s, []Setting{{ReadShare: 1}}, 1, time.Microsecond, nil); err == nil || !strings.Contains(err.Error(), "got no CPU") {
		t.Errorf("got %v", err)
	}
}
