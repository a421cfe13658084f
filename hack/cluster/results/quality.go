package results

import (
	"fmt"
	"strings"
)

// DefaultScheduler is the placement that the others are compared with.
const DefaultScheduler = "default scheduler"

// Quality is how slow pods are under different ways to place them.
type Quality struct {
	Conditions
	// Nodes is how many there were, Places how many pods each took.
	Nodes  int `json:"nodes"`
	Places int `json:"places"`
	// Sequences is how many sequences of arrivals each row has, Replacements how
	// many pods left and were replaced in each.
	Sequences    int          `json:"sequences"`
	Replacements int          `json:"replacements"`
	Rows         []QualityRow `json:"rows"`
}

// QualityRow is one way to place pods on one platform at one load.
type QualityRow struct {
	Platform string `json:"platform"`
	// Load is the part of the places that is taken, 0 to 1.
	Load      float64 `json:"load"`
	Placement string  `json:"placement"`
	// MeanSlowdown and Slowdown95 are the mean and the 95th percentile over every
	// pod after every step, Observations of them.
	MeanSlowdown float64 `json:"meanSlowdown"`
	Slowdown95   float64 `json:"slowdown95"`
	Observations int     `json:"observations"`
	// SequenceMeans are the mean slowdowns of each sequence.
	SequenceMeans []float64 `json:"sequenceMeans"`
}

// Table returns the rows in Markdown, with the part of the default scheduler's
// excess slowdown that each way to place removes: over all, and the range of the
// sequences taken for themselves.
func (q *Quality) Table() (string, error) {
	var b strings.Builder
	b.WriteString("| platform | load | placement by | mean slowdown | 95th percentile | excess of the default removed (by sequence) |\n|---|---|---|---|---|---|\n")
	for _, r := range q.Rows {
		base, err := q.baseline(r)
		if err != nil {
			return "", err
		}
		removed := "–"
		if r.Placement != DefaultScheduler {
			if removed, err = excessRemoved(r, base); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&b, "| %s | %.0f%% | %s | %.3f | %.2f | %s |\n", r.Platform, 100*r.Load, r.Placement, r.MeanSlowdown, r.Slowdown95, removed)
	}
	return b.String(), nil
}

func (q *Quality) baseline(r QualityRow) (QualityRow, error) {
	for _, d := range q.Rows {
		if d.Placement == DefaultScheduler && d.Platform == r.Platform && d.Load == r.Load {
			return d, nil
		}
	}
	return r, fmt.Errorf("results: quality: no row of the %s on %s at %.0f%%", DefaultScheduler, r.Platform, 100*r.Load)
}

func excessRemoved(r, base QualityRow) (string, error) {
	if len(r.SequenceMeans) == 0 || len(r.SequenceMeans) != len(base.SequenceMeans) {
		return "", fmt.Errorf("results: quality: %s on %s has %d sequences, the %s %d",
			r.Placement, r.Platform, len(r.SequenceMeans), DefaultScheduler, len(base.SequenceMeans))
	}
	part := func(mean, of float64) float64 { return 100 * (1 - (mean-1)/(of-1)) }
	low, high := part(r.SequenceMeans[0], base.SequenceMeans[0]), part(r.SequenceMeans[0], base.SequenceMeans[0])
	for i := range r.SequenceMeans {
		p := part(r.SequenceMeans[i], base.SequenceMeans[i])
		low, high = min(low, p), max(high, p)
	}
	return fmt.Sprintf("%s (%s to %s)", percent(part(r.MeanSlowdown, base.MeanSlowdown)), percent(low), percent(high)), nil
}

// percent rounds, with a minus sign that is not a hyphen and no minus zero.
func percent(p float64) string {
	return strings.Replace(strings.Replace(fmt.Sprintf("%.0f%%", p), "-0%", "0%", 1), "-", "−", 1)
}
