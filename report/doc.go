// Package report draws what Bandmate knows: curve plots, heat maps and tables
// as text for a terminal, rows as CSV, numbers with their units, and progress
// while an experiment runs.
//
// Every picture goes to an io.Writer with Options that say how wide it may be
// and what the reader's terminal can show; Detect finds them out. Names come
// from files and are never trusted: whatever is drawn passes SanitizeText.
package report
