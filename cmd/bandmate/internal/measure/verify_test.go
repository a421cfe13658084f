package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/doctor"
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

func runVerifier(t *testing.T, stream *steadyStream, change func(units.Traffic) units.Traffic) (verifyResult, error) {
	t.Helper()
	v := verifier{
		source: faultyCounters{stream, units.Traffic{Read: 3e8, Write: 1e8}, change},
		stream: stream,
		times:  verifyTimes{loaded: time.Millisecond, idle: time.Millisecond, settle: time.Microsecond},
	}
	var sustained []interferer.Sustained
	for _, share := range verifyReadShares {
		sustained = append(sustained, interferer.Sustained{ReadShare: share, Bandwidth: 10e9})
	}
	checks, err := v.run(t.Context(), sustained, clitest.App(nil).NewProgress())
	return verification("imc", checks, doctor.Diagnose(checks), v.warnings), err
}

func TestVerify(t *testing.T) {
	for name, want := range map[string]struct {
		change func(units.Traffic) units.Traffic
		cause  doctor.Cause
	}{
		"right":   {func(t units.Traffic) units.Traffic { return t }, doctor.Agreement},
		"double":  {func(t units.Traffic) units.Traffic { return t.Scale(2) }, doctor.DoubleCounting},
		"half":    {func(t units.Traffic) units.Traffic { return t.Scale(0.5) }, doctor.MissingChannels},
		"scale":   {func(t units.Traffic) units.Traffic { return t.Scale(16) }, doctor.WrongScale},
		"swapped": {func(t units.Traffic) units.Traffic { return units.Traffic{Read: t.Write, Write: t.Read} }, doctor.Swapped},
		"zero":    {func(units.Traffic) units.Traffic { return units.Traffic{} }, doctor.NothingCounted},
		"fixed":   {func(units.Traffic) units.Traffic { return units.Traffic{Read: 5e9, Write: 1e9} }, doctor.NothingCounted},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := runVerifier(t, &steadyStream{}, want.change)
			if err != nil {
				t.Fatal(err)
			}
			if result.Diagnosis.Cause != want.cause || result.Agree != (want.cause == doctor.Agreement) {
				t.Errorf("cause %s, agree %v; want cause %s", result.Diagnosis.Cause, result.Agree, want.cause)
			}
			if len(result.Checks) != len(verifyReadShares)*len(verifyLevels) {
				t.Errorf("%d checks", len(result.Checks))
			}
			for _, c := range result.Checks {
				if c.Agrees != result.Agree && name != "swapped" { // half reads look right when swapped
					t.Errorf("check %+v agrees: %v", c, c.Agrees)
				}
			}
			if len(result.Warnings) > 1 {
				t.Errorf("warnings are repeated: %q", result.Warnings)
			}
			var text bytes.Buffer
			if err := writeVerification(clitest.App(nil), &text, result); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), "counted by imc") || strings.Contains(text.String(), "disagree") == result.Agree {
				t.Errorf("text:\n%s", text.String())
			}
			if data, err := json.Marshal(result); err != nil || bytes.Contains(data, []byte("null")) {
				t.Errorf("JSON %s, %v", data, err)
			}
		})
	}
}

func TestVerifyEndsWithItsStream(t *testing.T) {
	_, err := runVerifier(t, &steadyStream{err: interferer.ErrCPU}, func(t units.Traffic) units.Traffic { return t })
	if !errors.Is(err, interferer.ErrCPU) {
		t.Errorf("error %v, want that of the stream", err)
	}
}

// TestVerifyExitCodes holds on every machine: what can be counted is not up to
// the test.
func TestVerifyExitCodes(t *testing.T) {
	for err, want := range map[error]int{
		errDisagree:          cli.ExitFailed,
		cli.ErrNotMeasurable: cli.ExitNotMeasurable,
	} {
		if got := cli.ExitCode(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}
