package stats

// Bisect halves the interval between low and high steps times, toward where below turns
// from true to false, and returns the ends of what is left.
func Bisect[T ~float64](low, high T, steps int, below func(T) bool) (T, T) {
	for range steps {
		if middle := (low + high) / 2; below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}
