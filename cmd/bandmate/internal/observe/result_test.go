package observe

import (
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/observing"
	"bandmate.dev/bandmate/pausing"
)

func besideOne(f observing.Finding) (*Result, error) {
	r := &running{target: observedProgram{PID: 1}, programs: []observedProgram{{PID: 2}}, flags: observeFlags{duration: time.Second}}
	return r.result(&observing.Result{Findings: []observing.Finding{f}, Elapsed: time.Second}, "page")
}

// A number without an interval is not told without a warning.
func TestResultOfOneBlock(t *testing.T) {
	for readings, warns := range map[int]bool{1: true, 2: false} {
		result, err := besideOne(observing.Finding{Estimate: modulation.Estimate{Performance: 0.2, Readings: readings}})
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(strings.Join(result.Warnings, "\n"), "a single block"); warned != warns {
			t.Errorf("%d blocks: warnings %q", readings, result.Warnings)
		}
	}
}

// Measuring for longer does not help where pauses fail.
func TestResultWithoutBlocks(t *testing.T) {
	if _, err := besideOne(observing.Finding{}); err == nil || !strings.Contains(err.Error(), "measure for longer") {
		t.Errorf("never paused: %v", err)
	}
	_, err := besideOne(observing.Finding{Lost: 3, Fault: pausing.ErrTooLong})
	if err == nil || strings.Contains(err.Error(), "measure for longer") || !strings.Contains(err.Error(), "3 of its pauses failed, the last one because the pause lasted too long") {
		t.Errorf("every pause failed: %v", err)
	}
}
