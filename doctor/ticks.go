package doctor

import "strings"

// ticks reports which counts of a program's progress can be read here. Those that a
// program declares by its output, a file or a metric can be read anywhere.
func (x *examination) ticks() Outcome {
	var able, reasons []string
	for _, a := range x.Ticks() {
		if a.Err == nil {
			able = append(able, a.Kind)
		} else {
			reasons = append(reasons, a.Kind+" not: "+a.Err.Error())
		}
	}
	switch {
	case len(able) == 0:
		return missing("only output, files and metrics of programs can be read ("+strings.Join(reasons, "; ")+")", "")
	case len(reasons) == 0:
		return ok("counted are " + strings.Join(able, ", "))
	}
	return limited("counted are "+strings.Join(able, ", ")+"; "+strings.Join(reasons, "; "),
		"have the program count its own work: docs/guides/progress.md")
}
