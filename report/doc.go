// Package report formats results: plots, heat maps and tables as text and CSV, numbers
// with units, and the progress of an experiment.
//
// Options describe the terminal; Detect determines them. Names come from files and are
// not trusted: all text passes SanitizeText.
package report
