package v1alpha1

import (
	"errors"
	"slices"
	"strings"
)

// Errors of a search for a profile by its name, in a store, a cluster or memory.
var (
	// ErrNotFound means that there is no such profile.
	ErrNotFound = errors.New("no such profile")
	// ErrAmbiguous means that the application has profiles of several
	// machines, of which none was chosen.
	ErrAmbiguous = errors.New("profiles of several machines")
)

// NearNames returns up to three of the candidates, nearest first, that differ from
// name by a typing error or have it as a prefix.
func NearNames(name string, candidates []string) []string {
	type match struct {
		name     string
		distance int
	}
	var near []match
	for _, c := range candidates {
		switch d := editDistance(name, c); {
		case d <= max(1, min(len(name), len(c))/3):
			near = append(near, match{c, d})
		case len(name) >= 2 && strings.HasPrefix(c, name):
			near = append(near, match{c, len(c)})
		}
	}
	slices.SortStableFunc(near, func(a, b match) int { return a.distance - b.distance })
	names := make([]string, 0, 3)
	for _, m := range near[:min(3, len(near))] {
		names = append(names, m.name)
	}
	return names
}

// editDistance is the optimal string alignment distance: the fewest insertions,
// deletions, replacements and swaps of neighboring bytes that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
