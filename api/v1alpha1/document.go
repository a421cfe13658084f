package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// maxDepth bounds the nesting: more than any profile has, and less than a parser's
// stack holds.
const maxDepth = 32

// document is one YAML or JSON document of a stream, whose syntax was checked.
type document struct {
	json []byte
	// root holds the lines; nil for JSON that YAML parsers refuse.
	root *yaml.Node
	// firstLine is the line of the stream that is line 1 of root.
	firstLine int
	// want says what the whole has to be; empty for a profile.
	want string
}

// splitDocuments splits a stream before each line that starts with "---", which
// YAML allows only there.
func splitDocuments(data []byte) (texts [][]byte, firstLines []int) {
	start, startLine, line := 0, 1, 0
	for at := 0; at < len(data); {
		line++
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		rest, marker := bytes.CutPrefix(data[at:end], []byte("---"))
		if marker && at > start && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			texts, firstLines = append(texts, data[start:at]), append(firstLines, startLine)
			start, startLine = at, line
		}
		at = end
	}
	return append(texts, data[start:]), append(firstLines, startLine)
}

// parseDocument returns nil for a document without content.
func parseDocument(text []byte, firstLine int) (*document, error) {
	d := &document{firstLine: firstLine}
	if len(text) > MaxDocumentBytes {
		return nil, &Fault{firstLine, fmt.Errorf("document of %d bytes: want at most %d; split it with --- or leave out timelines", len(text), MaxDocumentBytes)}
	}
	root, err := parseNodes(text)
	if json.Valid(text) { // YAML parsers refuse some of JSON: tabs, surrogate pairs
		if err == nil {
			d.root = root
		}
		d.json = text
		return d, nil
	}
	if err != nil {
		return nil, shiftLines(err, firstLine)
	}
	if root == nil {
		return nil, nil
	}
	d.root = root
	if faults := d.checkNode(root, 0, nil); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	// The conversion that kubectl applies, so that both read the same.
	if d.json, err = sigsyaml.YAMLToJSONStrict(text); err != nil {
		return nil, shiftLines(err, firstLine)
	}
	return d, nil
}

// parseNodes returns nil without an error where there is no content.
func parseNodes(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var more yaml.Node
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of a document: separate documents with ---")
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

// checkNode refuses what a profile never needs but a hostile or mistaken file may
// have: references, type tags, repeated keys, deep nesting, NaN.
func (d *document) checkNode(n *yaml.Node, depth int, faults []error) []error {
	report := func(at *yaml.Node, format string, args ...any) {
		faults = append(faults, &Fault{d.firstLine + at.Line - 1, fmt.Errorf(format, args...)})
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		report(n, "anchors and aliases (& and *) are not accepted: write the value out")
		return faults
	case n.Style&yaml.TaggedStyle != 0:
		report(n, "the tag %s is not accepted: write the plain value", n.Tag)
		return faults
	case depth > maxDepth:
		report(n, "nested more than %d deep", maxDepth)
		return faults
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float" && strings.ContainsAny(n.Value, "nN"):
		report(n, "%s is not a number: leave out what was not measured", n.Value)
		return faults
	case n.Kind == yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if first, ok := seen[key.Value]; ok && key.Kind == yaml.ScalarNode {
				report(key, "field %q is already given on line %d", key.Value, d.firstLine+first-1)
			}
			seen[key.Value] = key.Line
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				report(key, "want a plain name before the colon")
			}
		}
	}
	for _, child := range n.Content {
		if len(faults) >= maxReported {
			return faults
		}
		faults = d.checkNode(child, depth+1, faults)
	}
	return faults
}

// lineOf returns the line of a field such as spec.curves[1].points[3].level in the
// stream, or that of the nearest field around it; 0 when unknown.
func (d *document) lineOf(path string) int {
	if d.root == nil {
		return 0
	}
	node, line := d.root, d.root.Line
	for path != "" && node != nil {
		path = strings.TrimPrefix(path, ".")
		if index, ok := strings.CutPrefix(path, "["); ok {
			var inside string
			inside, path, _ = strings.Cut(index, "]")
			if i, err := strconv.Atoi(inside); err == nil {
				node = element(node, i)
			} else {
				node = value(node, inside)
			}
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			node, path = value(node, path[:end]), path[end:]
		}
		if node != nil {
			line = node.Line
		}
	}
	return d.firstLine + line - 1
}

// lineOfText returns the line in the stream of the first value below n with a text; 0
// where there is none.
func (d *document) lineOfText(n *yaml.Node, text string) int {
	if n == nil {
		return 0
	}
	if n.Kind == yaml.ScalarNode && n.Value == text {
		return d.firstLine + n.Line - 1
	}
	for _, child := range n.Content {
		if line := d.lineOfText(child, text); line > 0 {
			return line
		}
	}
	return 0
}

func element(n *yaml.Node, i int) *yaml.Node {
	if n.Kind != yaml.SequenceNode || i < 0 || i >= len(n.Content) {
		return nil
	}
	return n.Content[i]
}

func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// at returns the part of d that holds an element of its list of items.
func (d *document) at(i int, item json.RawMessage) *document {
	part := &document{json: item, firstLine: d.firstLine}
	if d.root != nil {
		if items := value(d.root, "items"); items != nil {
			part.root = element(items, i)
		}
	}
	return part
}
