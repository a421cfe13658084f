package models

import (
	"fmt"
	"io"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// writeMeasured prints a table for each kind of measurement that there is.
func writeMeasured(w io.Writer, r measureResult, o report.Options) error {
	fmt.Fprintf(w, "machine    %s\n", report.SanitizeText(r.Machine))
	c := r.Capability
	for _, t := range []*report.Table{
		placeTable(c.Latencies), sizeTable(c.LatenciesBySize), contentionTable(c.ContentionPoints),
		transferTable(c.Transfers), bandwidthTable(c.Bandwidths), loadTable(c.LoadedLatencies),
	} {
		if t == nil {
			continue
		}
		fmt.Fprintln(w)
		if err := t.Write(w, o); err != nil {
			return err
		}
		if k := c.Contention; k != nil && t.Columns[0].Title == readersTitle {
			fmt.Fprintf(w, "\ncontention of N readers: (%s) + (%s)·N\n",
				fitted(k.BaseNanoseconds, k.BaseIntervalNanoseconds), fitted(k.PerThreadNanoseconds, k.PerThreadIntervalNanoseconds))
		}
	}
	return nil
}

const readersTitle = "readers of one line"

// measuredTable begins a table whose last columns say how sure a median is.
func measuredTable(columns ...report.Column) *report.Table {
	return &report.Table{Columns: append(columns, report.Column{Title: "95% interval", Numeric: true}, report.Column{Title: "repeats", Numeric: true})}
}

// withinCells are these columns.
func withinCells(interval *float64, repeats int) []report.Cell {
	if interval == nil {
		return []report.Cell{report.Text(report.Missing), report.Text(report.Missing)}
	}
	return []report.Cell{report.Number(fmt.Sprintf("±%.1f%%", 100**interval), *interval), cli.CountCell(repeats)}
}

func costCell(nanoseconds float64) report.Cell {
	return report.Number(capability.Cost(nanoseconds).String(), nanoseconds)
}

func bandwidthCell(bytesPerSecond float64) report.Cell {
	return report.Number(report.Bandwidth(units.Bandwidth(bytesPerSecond)), bytesPerSecond)
}

// fitted prints "200 ns ±6%".
func fitted(nanoseconds float64, half *float64) string {
	text := capability.Cost(nanoseconds).String()
	if half != nil && nanoseconds > 0 {
		text += fmt.Sprintf(" ±%.0f%%", 100**half/nanoseconds)
	}
	return text
}

func numeric(title string) report.Column { return report.Column{Title: title, Numeric: true} }

func placeTable(list []v1alpha1.LineLatency) *report.Table {
	if len(list) == 0 {
		return nil
	}
	t := measuredTable(report.Column{Title: "line in"}, report.Column{Title: "state"}, numeric("latency"), numeric("range"))
	for _, l := range list {
		place, spread := l.Place, report.Missing
		if l.MemoryNode != nil {
			place += fmt.Sprintf(" of node %d", *l.MemoryNode)
		}
		if l.LowNanoseconds != nil && l.HighNanoseconds != nil {
			spread = capability.Cost(*l.LowNanoseconds).String() + " to " + capability.Cost(*l.HighNanoseconds).String()
		}
		t.Add(append([]report.Cell{report.Text(place), report.Text(l.State), costCell(l.Nanoseconds), report.Text(spread)},
			withinCells(l.RelativeInterval, l.Repeats)...)...)
	}
	return t
}

func sizeTable(list []v1alpha1.SizeLatency) *report.Table {
	if len(list) == 0 {
		return nil
	}
	t := measuredTable(numeric("chased through"), numeric("latency"))
	for _, l := range list {
		t.Add(append([]report.Cell{report.Number(report.Bytes(l.Bytes), float64(l.Bytes)), costCell(l.Nanoseconds)},
			withinCells(l.RelativeInterval, l.Repeats)...)...)
	}
	return t
}

func contentionTable(list []v1alpha1.ContentionPoint) *report.Table {
	if len(list) == 0 {
		return nil
	}
	t := measuredTable(numeric(readersTitle), numeric("latency"))
	for _, p := range list {
		t.Add(append([]report.Cell{cli.CountCell(p.Threads), costCell(p.Nanoseconds)}, withinCells(p.RelativeInterval, p.Repeats)...)...)
	}
	return t
}

func transferTable(list []v1alpha1.LinesTransfer) *report.Table {
	if len(list) == 0 {
		return nil
	}
	t := &report.Table{Columns: []report.Column{
		{Title: "lines in"}, {Title: "state"}, {Title: "access"}, numeric("base"), numeric("per line"), numeric("lines measured"),
	}}

	for _, l := range list {
		points := report.Missing
		if n := len(l.Points); n > 0 {
			points = fmt.Sprintf("%d to %d", l.Points[0].Lines, l.Points[n-1].Lines)
		}
		t.Add(report.Text(l.Place), report.Text(l.State), report.Text(l.Access),
			report.Number(fitted(l.BaseNanoseconds, l.BaseIntervalNanoseconds), l.BaseNanoseconds),
			report.Number(fitted(l.PerLineNanoseconds, l.PerLineIntervalNanoseconds), l.PerLineNanoseconds), report.Text(points))
	}
	return t
}

func bandwidthTable(list []v1alpha1.AccessBandwidth) *report.Table {
	if len(list) == 0 {
		return nil
	}
	t := measuredTable(report.Column{Title: "access"}, report.Column{Title: "stores"}, numeric("threads"), report.Column{Title: "nodes"}, numeric("bandwidth"))
	for _, b := range list {
		stores, nodes := "plain", report.Missing
		switch {
		case b.Access == "read":
			stores = report.Missing
		case b.NonTemporal:
			stores = "non-temporal"
		}
		if b.CPUNode != nil && b.MemoryNode != nil {
			nodes = fmt.Sprintf("%d, memory of %d", *b.CPUNode, *b.MemoryNode)
		}
		t.Add(append([]report.Cell{report.Text(b.Access), report.Text(stores), cli.CountCell(b.Threads), report.Text(nodes), bandwidthCell(b.BytesPerSecond)},
			withinCells(b.RelativeInterval, b.Repeats)...)...)
	}
	return t
}

func loadTable(list []v1alpha1.LoadedLatency) *report.Table {
	if len(list) == 0 {
		return nil
	}
	t := measuredTable(numeric("streaming"), numeric("reads"), numeric("of most"), numeric("load"), numeric("memory latency"))
	for _, l := range list {
		t.Add(append([]report.Cell{
			cli.CountCell(l.StreamingThreads), report.Number(units.ReadShare(l.ReadShare).String(), l.ReadShare),
			report.Number(units.ReadShare(l.Level).String(), l.Level), bandwidthCell(l.BytesPerSecond), costCell(l.Nanoseconds),
		}, withinCells(l.RelativeInterval, l.Repeats)...)...)
	}
	return t
}
