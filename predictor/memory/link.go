package memory

import (
	"fmt"
	"slices"
)

// Link is how co-runners reach the memory that a target is next to.
type Link string

const (
	// LinkUnknown is the zero value.
	LinkUnknown Link = ""
	// LinkNone means that co-runners are as near to the memory as the target.
	LinkNone Link = "none"
	// LinkOwn means that each co-runner comes over a link of its own.
	LinkOwn Link = "own"
	// LinkShared means that all co-runners come over one link, as from the other
	// socket of two.
	LinkShared Link = "shared"
)

// Links lists every Link that is known.
func Links() []Link { return []Link{LinkNone, LinkOwn, LinkShared} }

// ParseLink reads the name of a link; the empty name means LinkUnknown.
func ParseLink(name string) (Link, error) {
	l := Link(name)
	if l != LinkUnknown && !slices.Contains(Links(), l) {
		return LinkUnknown, fmt.Errorf("link %q: want one of %q", name, Links())
	}
	return l, nil
}

// Distant reports whether co-runners are farther from the memory than the target.
func (l Link) Distant() bool { return l == LinkOwn || l == LinkShared }
