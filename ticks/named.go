package ticks

import (
	"fmt"
	"strings"
)

// Named returns the source that has a name: a page, instructions, a function, or
// input and output. Sources that need more than their name to count are not found.
func Named(name string) (Source, error) {
	for _, s := range append([]Source{Page{}}, free...) {
		if s.Name() == name {
			return s, nil
		}
	}
	if function, ok := strings.CutPrefix(name, "function "); ok {
		return ParseFunction(function)
	}
	return nil, fmt.Errorf("no source is named %q", name)
}
