package predictor

import "bandmate.dev/bandmate/predictor/memory"

// InCaches returns c for so many caches alike.
func (c *Calibration) InCaches(n int) *Calibration {
	several := *c
	several.caches = n
	return &several
}

// Farther returns c where co-runners are farther from the memory than a target.
func (c *Calibration) Farther() *Calibration {
	far := *c
	far.farther = true
	return &far
}

// Farther is farther.
func Farther(ratios []float64, link string) bool { return farther(ratios, memory.Link(link)) }
