package hostlist

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Compress returns a short list in Slurm's language that stands for the names,
// each once; numbers at the end of names become ranges. Expand returns the same
// names. A name with a bracket or a comma, which Expand would refuse, makes a list
// that Expand refuses: names come from Slurm or have been checked by Valid.
func Compress(names []string) string {
	sorted := slices.Compact(slices.SortedFunc(slices.Values(names), Compare))
	var order []string
	groups := make(map[string][]string, len(sorted))
	for _, name := range sorted {
		prefix, digits := split(name)
		if digits == "" {
			prefix += "/" // no name has it: never in a group of numbers
		}
		if groups[prefix] == nil {
			order = append(order, prefix)
		}
		groups[prefix] = append(groups[prefix], name)
	}
	entries := make([]string, len(order))
	for i, prefix := range order {
		entries[i] = entry(prefix, groups[prefix])
	}
	return strings.Join(entries, ",")
}

// Valid reports whether Expand would return exactly this name for it.
func Valid(name string) bool { return name != "" && literal.FindString(name) == name }

// split separates the number at the end of a name, if one can be counted with.
func split(name string) (prefix, digits string) {
	prefix = strings.TrimRight(name, "0123456789")
	if digits = name[len(prefix):]; len(digits) > mostDigits {
		return name, ""
	}
	return prefix, digits
}

// entry writes names that differ in their last number only.
func entry(prefix string, names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	var ranges []string
	for i := 0; i < len(names); {
		_, low := split(names[i])
		high := low
		next := i + 1
		for ; next < len(names); next++ {
			_, digits := split(names[next])
			if digits != following(high, len(low)) {
				break
			}
			high = digits
		}
		if low == high {
			ranges = append(ranges, low)
		} else {
			ranges = append(ranges, low+"-"+high)
		}
		i = next
	}
	return prefix + "[" + strings.Join(ranges, ",") + "]"
}

// following returns the number after one, as a range of that width counts.
func following(digits string, width int) string {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%0*d", width, n+1)
}

// Compare orders names as people count: node2 before node10.
func Compare(a, b string) int {
	for x, y := a, b; ; {
		textX, digitsX, restX := chunk(x)
		textY, digitsY, restY := chunk(y)
		numberX, numberY := strings.TrimLeft(digitsX, "0"), strings.TrimLeft(digitsY, "0")
		if c := cmp.Or(
			cmp.Compare(textX, textY),
			cmp.Compare(len(numberX), len(numberY)),
			cmp.Compare(numberX, numberY),
			cmp.Compare(len(digitsX), len(digitsY)),
		); c != 0 || (restX == "" && restY == "") {
			return c
		}
		x, y = restX, restY
	}
}

// chunk cuts off the first text without digits and the number after it.
func chunk(name string) (text, digits, rest string) {
	const all = "0123456789"
	start := strings.IndexAny(name, all)
	if start < 0 {
		return name, "", ""
	}
	rest = strings.TrimLeft(name[start:], all)
	return name[:start], name[start : len(name)-len(rest)], rest
}
