// Package network holds models of how communications share network cards.
//
// Two communications are in conflict when they leave from the same node or
// arrive at the same node. What the conflict costs is the penalty: the time of
// the communication ÷ its time without any other. The models are those of
// Vienne, Martinasso, Vincent and Méhaut, "Predictive models for bandwidth
// sharing in high performance clusters" (2008), "the paper" below.
//
// Everything is pure: nothing is read, written or measured here.
package network

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Communication is a message between two nodes.
type Communication struct {
	// Name is unique in a conflict.
	Name string
	// From and To are the numbers of the sending and the receiving node, 0 or
	// more and different: a message within a node does not use its card.
	From, To int
}

// String returns c as ParseCommunication reads it.
func (c Communication) String() string { return fmt.Sprintf("%s:%d-%d", c.Name, c.From, c.To) }

// ParseCommunication reads NAME:FROM-TO, as "a:0-1".
func ParseCommunication(text string) (Communication, error) {
	name, ends, ok := strings.Cut(text, ":")
	from, to, two := strings.Cut(ends, "-")
	if !ok || !two || name == "" {
		return Communication{}, fmt.Errorf("communication %q: want NAME:FROM-TO with two node numbers, as a:0-1", text)
	}
	c := Communication{Name: name}
	var faults [2]error
	c.From, faults[0] = parseNode(from)
	c.To, faults[1] = parseNode(to)
	if err := errors.Join(faults[:]...); err != nil {
		return Communication{}, fmt.Errorf("communication %q: %w", text, err)
	}
	if c.From == c.To {
		return Communication{}, fmt.Errorf("communication %q: leaves and arrives at node %d, and so does not use its card: name two different nodes", text, c.From)
	}
	return c, nil
}

// maxNode bounds node numbers, so that one wrong digit is no table of gigabytes.
const maxNode = 1<<20 - 1

func parseNode(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxNode || strconv.Itoa(n) != text {
		return 0, fmt.Errorf("node %q: want a number from 0 to %d", text, maxNode)
	}
	return n, nil
}

// ErrNoCommunications is returned for an empty conflict.
var ErrNoCommunications = errors.New("no communications: name at least one, as a:0-1")

// Validate reports every fault of a conflict at once: no communications, missing or
// repeated names, nodes that are out of range or equal.
func Validate(conflict []Communication) error {
	if len(conflict) == 0 {
		return ErrNoCommunications
	}
	var faults []error
	names := make(map[string]int, len(conflict))
	for i, c := range conflict {
		if c.Name == "" {
			faults = append(faults, fmt.Errorf("communication %d: has no name", i+1))
		} else if first, twice := names[c.Name]; twice {
			faults = append(faults, fmt.Errorf("communications %d and %d are both named %q: give each a name of its own", first+1, i+1, c.Name))
		} else {
			names[c.Name] = i
		}
		switch {
		case c.From < 0 || c.From > maxNode || c.To < 0 || c.To > maxNode:
			faults = append(faults, fmt.Errorf("communication %q: node numbers %d and %d: want 0 to %d", c.Name, c.From, c.To, maxNode))
		case c.From == c.To:
			faults = append(faults, fmt.Errorf("communication %q: leaves and arrives at node %d, and so does not use its card", c.Name, c.From))
		}
	}
	return errors.Join(faults...)
}
