package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/units"
)

func TestWriteVerification(t *testing.T) {
	made := units.Traffic{Read: 6e9, Write: 3e9}
	for _, test := range []struct {
		name    string
		counted units.Traffic
		splits  bool
		agree   bool
	}{
		{"agrees", made, true, true},
		{"totals only", made, false, true},
		{"double", made.Scale(2), true, false},
		{"nothing", units.Traffic{}, true, false},
	} {
		checks := []doctor.Check{{Asked: made, Made: made, Counted: test.counted, SplitsReadWrite: test.splits}}
		result := verification("imc", checks, doctor.Diagnose(checks), nil)
		if result.Agree != test.agree {
			t.Errorf("%s: agree %t", test.name, result.Agree)
		}
		var text bytes.Buffer
		if err := writeVerification(clitest.App(nil), &text, result); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "counted by imc") || strings.Contains(text.String(), "disagree") == test.agree {
			t.Errorf("%s:\n%s", test.name, text.String())
		}
		if data, err := json.Marshal(result); err != nil || bytes.Contains(data, []byte("null")) {
			t.Errorf("%s: JSON %s, %v", test.name, data, err)
		}
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
