package predictor

// InCaches returns c for so many caches alike.
func (c *Calibration) InCaches(n int) *Calibration {
	several := *c
	several.caches = n
	return &several
}
