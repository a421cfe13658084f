package pairing

// Comparison is the optimal pairing beside what simpler ways would give.
type Comparison struct {
	Optimal, Greedy Pairing
	// Random is the mean total of all pairings.
	Random float64
}

// Compare solves a problem in every way. It fails as Optimal does.
func Compare(p Problem) (c Comparison, err error) {
	if c.Optimal, err = Optimal(p); err != nil {
		return c, err
	}
	if c.Greedy, err = Greedy(p); err != nil {
		return c, err
	}
	c.Random, err = AverageRandom(p)
	return c, err
}
