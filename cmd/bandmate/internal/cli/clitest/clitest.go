// Package clitest holds helpers that the tests of the commands share.
package clitest

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
)

// App is the command line in an environment of these variables; what it prints is
// discarded.
func App(variables map[string]string) *cli.App {
	return &cli.App{Stdout: io.Discard, Stderr: io.Discard, Env: func(name string) string { return variables[name] }}
}

// Width is the number of columns that output has to fit.
const Width = 80

// Long is a name that no table has room for.
var Long = strings.Repeat("processor-with-a-long-name ", 5) + strings.Repeat("n", 100)

// WantFits fails the test for lines that are wider than Width and could be broken: a
// word that is too long for a line, such as a path, has one for itself.
func WantFits(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(strings.TrimPrefix(line, "warning: "))
		if width := uniseg.StringWidth(line); width > Width && len(words) > 1 {
			t.Errorf("%s: %d columns: %s", what, width, line)
		}
	}
}

// WantWritten fails the test where what a command writes is empty or does not fit.
func WantWritten(t *testing.T, commands map[string]func(io.Writer) error) {
	t.Helper()
	for name, write := range commands {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.Len() == 0 {
			t.Errorf("%s prints nothing", name)
		}
		WantFits(t, name, report.Fold(b.String(), report.Options{Unicode: true}))
		// Tables fit without being folded.
		for line := range strings.SplitSeq(b.String(), "\n") {
			if strings.Count(line, "  ") > 2 && report.Widest(line) > Width {
				t.Errorf("%s: a row of %d columns: %s", name, report.Widest(line), line)
			}
		}
	}
}

// MeasuredProfile is a profile with 2 × 4 points that recorded what the interferer
// achieved; the larger the number, the more it transfers and loses.
func MeasuredProfile(name string, number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: bandmate.dev/v1alpha1
kind: ApplicationProfile
metadata:
  name: %s
spec:
  machine: {name: here}
  measurement: {}
  solo: {seconds: 1, repeats: 3}
  contentiousness: {readBytesPerSecond: %d.0e9, writeBytesPerSecond: 0, source: imc}
  curves:
`, name, 2*number)
	for _, share := range []string{"0.5", "1.0"} {
		fmt.Fprintf(&b, "  - readShare: %s\n    points:\n", share)
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			fmt.Fprintf(&b, "    - {level: %.2f, interfererBytesPerSecond: %.3fe9, achievedBytesPerSecond: %.3fe9, normalizedPerformance: %.4f, repeats: 3}\n",
				level, 20*level, 19*level, 1-0.03*float64(number)*level*level)
		}
	}
	return b.String()
}
