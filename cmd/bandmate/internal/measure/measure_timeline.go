package measure

import (
	"errors"
	"fmt"
	"io"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// timeLine is the picture of a measurement's time line.
func timeLine(title string, samples []v1alpha1.TrafficSample) *report.TimeLine {
	line := &report.TimeLine{Title: title}
	for _, s := range samples {
		line.Samples = append(line.Samples, report.TimeSample{
			Seconds: s.Seconds, Read: units.Bandwidth(s.ReadBytesPerSecond), Write: units.Bandwidth(s.WriteBytesPerSecond),
		})
	}
	return line
}

// printTimed prints a measurement, and its time line where one was asked for with
// --interval or as a file.
func printTimed(a *cli.App, v any, samples []v1alpha1.TrafficSample, f measureFlags, text func(io.Writer) error) error {
	line := timeLine("Memory traffic", samples)
	if flags, _ := f.pictures.Wanted(); len(flags) > 0 && len(samples) == 0 {
		// What was measured is not lost for it.
		return errors.Join(a.Print(v, text), fmt.Errorf("--%s: %w: this source gives no time line: see what else there is with bandmate doctor, and name it with --source", flags[0], cli.ErrNotMeasurable))
	}
	return a.PrintDrawn(v, line, f.pictures, func(w io.Writer) error {
		if err := text(w); err != nil || f.interval == 0 || len(samples) < 2 {
			return err
		}
		fmt.Fprintln(w)
		line.Title = ""
		return line.Write(w, a.Canvas())
	})
}
