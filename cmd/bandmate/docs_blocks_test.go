package main

import (
	"slices"
	"strings"
	"testing"
)

// block is a part of a help text, without its indentation.
type block struct {
	kind blockKind
	text string
}

type blockKind int

const (
	prose blockKind = iota
	list            // of items that begin with "- "
	code
)

// blocksOf divides a help text at its empty lines. What is indented is a list if it begins
// with "- ", and else is shown as it is.
func blocksOf(text string) []block {
	var blocks []block
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		flush := slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "  ") })
		switch {
		case flush:
			blocks = append(blocks, block{prose, paragraph})
		case strings.HasPrefix(lines[0], "  - "):
			blocks = append(blocks, block{list, unindented(paragraph)})
		default:
			blocks = append(blocks, block{code, unindented(paragraph)})
		}
	}
	return blocks
}

// items are those of a list, each in one line.
func (b block) items() []string {
	var items []string
	for line := range strings.SplitSeq(b.text, "\n") {
		if item, begins := strings.CutPrefix(line, "- "); begins {
			items = append(items, item)
		} else {
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	return items
}

func TestBlocks(t *testing.T) {
	got := blocksOf("Prose\nof two lines:\n\n  - one\n    item\n  - another\n\n  key:\n    - value\n\nMore.")
	want := []block{
		{prose, "Prose\nof two lines:"},
		{list, "- one\n  item\n- another"},
		{code, "key:\n  - value"},
		{prose, "More."},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if items := got[1].items(); !slices.Equal(items, []string{"one item", "another"}) {
		t.Errorf("items %q", items)
	}
}
