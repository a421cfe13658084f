package measure

import (
	"fmt"
	"io"
	"strings"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

func writeSummary(w io.Writer, s profiler.Summary, where string) error {
	total := s.Total()
	text := report.Bandwidth(total)
	if s.RelativeUncertainty != nil {
		text = report.BandwidthWithin(total, *s.RelativeUncertainty)
	}
	if s.ReadShare != nil {
		text += ", " + report.ReadShare(units.ReadShare(*s.ReadShare))
	} else {
		text += ", read share unknown"
	}
	kind := "measured"
	if s.Source == profiler.ProbeName {
		kind = "estimated"
	}
	if _, err := fmt.Fprintf(w, "%s (%s by %s, %s, %s)\n", text, kind, s.Source, where, report.Seconds(s.Seconds)); err != nil {
		return err
	}
	if err := writeActivity(w, s.Activity); err != nil || len(s.PerNode) < 2 {
		return err
	}
	for _, n := range s.PerNode {
		node := n.Total()
		if _, err := fmt.Fprintf(w, "  node %d: %s\n", n.Node, node); err != nil {
			return err
		}
	}
	return nil
}

// writeActivity writes what is known of it on one line.
func writeActivity(w io.Writer, a *profiler.Activity) error {
	if a == nil {
		return nil
	}
	var parts []string
	if a.CPUSeconds != nil {
		parts = append(parts, report.Seconds(*a.CPUSeconds)+" of CPU time")
	}
	if a.Instructions != nil {
		text := fmt.Sprintf("%.4g instructions", *a.Instructions)
		if a.InstructionsUserOnly {
			text += " in user space"
		}
		parts = append(parts, text)
	}
	if a.ContextSwitches != nil {
		parts = append(parts, fmt.Sprintf("%.0f context switches", *a.ContextSwitches))
	}
	if a.OtherCPUSeconds != nil {
		parts = append(parts, "everything else used "+report.Seconds(*a.OtherCPUSeconds))
	}
	_, err := fmt.Fprintf(w, "  %s\n", strings.Join(parts, ", "))
	return err
}
