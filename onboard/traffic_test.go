package onboard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// scripted is a source that runs the workload and then says what it was told.
type scripted struct {
	// reads are bytes per second in run after run; below 0 the read share is
	// unknown.
	reads []units.Bandwidth
	runs  int
}

func (*scripted) Name() string { return "scripted" }

func (*scripted) Available(context.Context) profiler.Availability {
	return profiler.Availability{State: profiler.Usable}
}

func (s *scripted) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	if w.Run == nil {
		return profiler.Summary{}, errors.New("no command to run")
	}
	if err := w.Run(ctx); err != nil {
		return profiler.Summary{}, err
	}
	reads := s.reads[s.runs]
	s.runs++
	if reads < 0 {
		return profiler.Summary{Source: "scripted", Traffic: units.Traffic{Read: -reads}}, nil
	}
	return profiler.Summary{Source: "scripted", Traffic: units.Traffic{Read: reads, Write: 1}, ReadShare: new(0.5)}, nil
}

func TestMeasureTraffic(t *testing.T) {
	session := openSession(t, bench.Placing{})
	count := filepath.Join(t.TempDir(), "runs")
	counted := testprogram.Shell("echo run >>" + count)
	for _, tt := range []struct {
		name    string
		command launch.Command
		source  scripted
		want    units.Bandwidth
		is      error
		text    string
	}{
		{name: "the median run", command: counted, source: scripted{reads: []units.Bandwidth{7, 90, 8}}, want: 8},
		{name: "no read share", command: counted, source: scripted{reads: []units.Bandwidth{7, -8, 9}}, is: profiler.ErrUnsupported, text: "--source probe"},
		{name: "the application fails", command: testprogram.Shell("exit 3"), source: scripted{reads: []units.Bandwidth{7}}, is: launch.ErrCommand, text: "exit status 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &Experiment{Session: session}
			got, err := e.MeasureTraffic(t.Context(), Application{Name: "app", Command: tt.command}, &tt.source)
			if tt.is != nil {
				if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "traffic of app") {
					t.Errorf("%v, want %v with %q", err, tt.is, tt.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Read != tt.want || got.Contentiousness().Source != "scripted" {
				t.Errorf("%+v, want %v read", got, tt.want)
			}
			text, err := os.ReadFile(count)
			if runs := strings.Count(string(text), "run"); err != nil || runs != trafficRuns {
				t.Errorf("%d runs, %v; want %d", runs, err, trafficRuns)
			}
		})
	}
}
