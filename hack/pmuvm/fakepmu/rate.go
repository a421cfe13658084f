// Package fakepmu controls, inside the virtual machine of hack/pmu-vm.sh, the
// kernel module that pretends to be memory-controller PMUs.
package fakepmu

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// All stands for every PMU or every node.
const All = "*"

// Counts are events of a memory controller, each 64 bytes: per second in a
// rate, a number of events in an addition.
type Counts struct {
	Reads, Writes uint64
	// MediaReads and MediaWrites are those of persistent memory.
	MediaReads, MediaWrites uint64
}

// Line is a change of the boxes of one PMU (or all) on one node (or all).
type Line struct {
	PMU, Node string
	Counts    Counts
}

// String returns the line as the module reads it.
func (l Line) String() string {
	c := l.Counts
	return fmt.Sprintf("%s %s %d %d %d %d", l.PMU, l.Node, c.Reads, c.Writes, c.MediaReads, c.MediaWrites)
}

// maximum is what the module computes with safely: counts per second times
// nanoseconds in 64 bits.
const maximum = 1e10

// ParseLines reads "PMU NODE READS WRITES [MEDIA_READS MEDIA_WRITES]; …".
// Numbers are whole and may be written as 1e8; at most 1e10. Later lines
// override earlier ones where both match. Empty text is no lines.
func ParseLines(text string) ([]Line, error) {
	var lines []Line
	for part := range strings.SplitSeq(text, ";") {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		line, err := parseLine(fields)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", strings.TrimSpace(part), err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func parseLine(fields []string) (Line, error) {
	if len(fields) != 4 && len(fields) != 6 {
		return Line{}, fmt.Errorf("%d fields: want PMU NODE READS WRITES [MEDIA_READS MEDIA_WRITES]", len(fields))
	}
	line := Line{PMU: fields[0], Node: fields[1]}
	if line.Node != All {
		if _, err := strconv.ParseUint(line.Node, 10, 8); err != nil {
			return Line{}, fmt.Errorf("node %s: want a number or %s", line.Node, All)
		}
	}
	for i, target := range []*uint64{&line.Counts.Reads, &line.Counts.Writes, &line.Counts.MediaReads, &line.Counts.MediaWrites} {
		if 2+i >= len(fields) {
			break
		}
		value, err := parseCount(fields[2+i])
		if err != nil {
			return Line{}, err
		}
		*target = value
	}
	return line, nil
}

func parseCount(text string) (uint64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= maximum) || value != math.Trunc(value) {
		return 0, fmt.Errorf("count %s: want a whole number from 0 to %g", text, float64(maximum))
	}
	return uint64(value), nil
}
