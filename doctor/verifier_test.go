package doctor

import (
	"context"
	"errors"
	"testing"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/units"
)

// steadyStream makes exactly what it is set to, in a time of its own that
// passes whenever somebody looks.
type steadyStream struct {
	flow units.Traffic
	now  interferer.Counters
	err  error
}

func (s *steadyStream) Apply(setting interferer.Setting) error {
	s.flow = units.Traffic{}
	if setting.Mode == interferer.Stream {
		s.flow = units.TrafficOf(setting.Bandwidth, setting.ReadShare)
	}
	return nil
}

func (s *steadyStream) Counters() interferer.Counters {
	const step = time.Second
	s.now.Time += step
	s.now.ReadBytes += uint64(float64(s.flow.Read) * step.Seconds())
	s.now.WriteBytes += uint64(float64(s.flow.Write) * step.Seconds())
	return s.now
}

func (s *steadyStream) Err() error { return s.err }

// faultyCounters count a stream and other traffic, wrongly.
type faultyCounters struct {
	stream *steadyStream
	others units.Traffic
	change func(units.Traffic) units.Traffic
}

func (faultyCounters) Name() string { return "imc" }
func (faultyCounters) Available(context.Context) profiler.Availability {
	return profiler.Availability{State: profiler.Usable}
}

func (c faultyCounters) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	if err := w.Wait(ctx); err != nil {
		return profiler.Summary{}, err
	}
	counted := c.change(c.stream.flow.Add(c.others))
	share, ok := counted.ReadShare()
	if !ok {
		return profiler.Summary{}, pmu.ErrNothingCounted
	}
	return profiler.Summary{
		Traffic:   counted,
		ReadShare: new(float64(share)), Warnings: []string{"of the source"},
	}, nil
}

func verify(t *testing.T, stream *steadyStream, change func(units.Traffic) units.Traffic) ([]Check, []string, error) {
	t.Helper()
	v := Verifier{
		Source: faultyCounters{stream, units.Traffic{Read: 3e8, Write: 1e8}, change},
		Stream: stream,
		times:  verifierTimes{loaded: time.Millisecond, idle: time.Millisecond, settle: time.Microsecond},
	}
	var sustained []interferer.Sustained
	for _, share := range checkedReadShares {
		sustained = append(sustained, interferer.Sustained{ReadShare: share, Bandwidth: 10e9})
	}
	return v.Run(t.Context(), sustained)
}

func TestVerifier(t *testing.T) {
	for name, want := range map[string]struct {
		change func(units.Traffic) units.Traffic
		cause  Cause
	}{
		"right":   {func(t units.Traffic) units.Traffic { return t }, Agreement},
		"double":  {func(t units.Traffic) units.Traffic { return t.Scale(2) }, DoubleCounting},
		"half":    {func(t units.Traffic) units.Traffic { return t.Scale(0.5) }, MissingChannels},
		"scale":   {func(t units.Traffic) units.Traffic { return t.Scale(16) }, WrongScale},
		"swapped": {func(t units.Traffic) units.Traffic { return units.Traffic{Read: t.Write, Write: t.Read} }, Swapped},
		"zero":    {func(units.Traffic) units.Traffic { return units.Traffic{} }, NothingCounted},
		"fixed":   {func(units.Traffic) units.Traffic { return units.Traffic{Read: 5e9, Write: 1e9} }, NothingCounted},
	} {
		t.Run(name, func(t *testing.T) {
			checks, warnings, err := verify(t, &steadyStream{}, want.change)
			if err != nil {
				t.Fatal(err)
			}
			diagnosis := Diagnose(checks)
			if diagnosis.Cause != want.cause {
				t.Errorf("cause %s, want %s", diagnosis.Cause, want.cause)
			}
			if len(checks) != len(checkedReadShares)*len(checkedLevels) {
				t.Errorf("%d checks", len(checks))
			}
			for _, c := range checks {
				if c.Agrees() != (diagnosis.Cause == Agreement) && name != "swapped" { // half reads look right when swapped
					t.Errorf("check %+v agrees: %v", c, c.Agrees())
				}
			}
			if len(warnings) > 1 {
				t.Errorf("warnings are repeated: %q", warnings)
			}
		})
	}
}

func TestVerifierEndsWithItsStream(t *testing.T) {
	_, _, err := verify(t, &steadyStream{err: interferer.ErrCPU}, func(t units.Traffic) units.Traffic { return t })
	if !errors.Is(err, interferer.ErrCPU) {
		t.Errorf("error %v, want that of the stream", err)
	}
}
