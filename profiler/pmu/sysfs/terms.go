package sysfs

import (
	"fmt"
	"strconv"
	"strings"
)

// Term sets one field of an event.
type Term struct {
	Name  string
	Value uint64
}

// ParseTerms reads the description of an event, as in a file of the folder
// events or behind a slash of perf's -e:
//
//	event=0x04,umask=0x03
//	config=0x1a5
//	clkdiv2_rdwr,mask=1     a term without a value is 1
func ParseTerms(text string) ([]Term, error) {
	var terms []Term
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		name, value, hasValue := strings.Cut(part, "=")
		if !isName(name) {
			return nil, fmt.Errorf("%q in %q is not the name of a field", name, text)
		}
		for _, t := range terms {
			if t.Name == name {
				return nil, fmt.Errorf("%s occurs twice in %q", name, text)
			}
		}
		term := Term{Name: name, Value: 1}
		if hasValue {
			var err error
			if term.Value, err = strconv.ParseUint(value, 0, 64); err != nil {
				return nil, fmt.Errorf("the value %q of %s is not a number; some events want a value for %q from the caller", value, name, value)
			}
		}
		terms = append(terms, term)
	}
	return terms, nil
}

func isName(text string) bool {
	for _, r := range text {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.') {
			return false
		}
	}
	return text != ""
}

// Encode turns a description into configuration words by the device's format.
// A term named after a whole word (config, config1, config2) sets all of it, as
// perf allows.
func (d Device) Encode(description string) (Code, error) {
	terms, err := ParseTerms(description)
	if err != nil {
		return Code{}, fmt.Errorf("%s: event: %w", d.Name, err)
	}
	var code Code
	for _, t := range terms {
		if err := d.set(&code, t); err != nil {
			return Code{}, fmt.Errorf("%s: event %q: %w", d.Name, description, err)
		}
	}
	return code, nil
}

func (d Device) set(code *Code, t Term) error {
	field, known := d.Format[t.Name]
	if !known {
		for w := range words {
			if t.Name == w.String() {
				code[w] |= t.Value
				return nil
			}
		}
		return fmt.Errorf("the device has no field %q in its folder format", t.Name)
	}
	if !field.put(code, t.Value) {
		return fmt.Errorf("%s=%#x does not fit into %s", t.Name, t.Value, field)
	}
	return nil
}
