package text

import "strconv"

// Count returns a number with a noun that takes an s in the plural: 1 pair, 2 pairs.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
