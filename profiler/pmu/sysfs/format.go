package sysfs

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// Word is one of the configuration words of an event.
type Word int

// Words of struct perf_event_attr (perf_event_open(2)).
const (
	Config Word = iota
	Config1
	Config2
	words
)

// wordBits is the width of a configuration word.
const wordBits = 64

// String returns the name sysfs uses, such as "config1".
func (w Word) String() string {
	if w == Config {
		return "config"
	}
	return "config" + strconv.Itoa(int(w))
}

// Field is where the bits of one term of an event go.
type Field struct {
	Word Word
	// Bits are positions in the word. The lowest one is the term's lowest bit.
	Bits []int
}

// ParseField reads a file of the folder format:
//
//	config:0-7
//	config:0-7,32-37    the upper bits of a number lie apart
//	config1:3
func ParseField(text string) (Field, error) {
	word, list, found := strings.Cut(strings.TrimSpace(text), ":")
	if !found || list == "" {
		return Field{}, fmt.Errorf("%q names no bits; want bits of a word, such as config:0-7,32-35", text)
	}
	bits, err := topology.ParseList(list, wordBits)
	if err != nil {
		return Field{}, fmt.Errorf("bits of a word: %w", err)
	}
	for w := range words {
		if word == w.String() {
			return Field{Word: w, Bits: bits.List()}, nil
		}
	}
	return Field{}, fmt.Errorf("%q is none of config, config1 and config2", word)
}

// String writes f as the kernel does; [ParseField] reads it back.
func (f Field) String() string { return f.Word.String() + ":" + cpuset.New(f.Bits...).String() }

// put scatters value over the bits of f; false when value has more bits.
func (f Field) put(code *Code, value uint64) bool {
	if bits.Len64(value) > len(f.Bits) {
		return false
	}
	for i, bit := range f.Bits {
		code[f.Word] |= (value >> i & 1) << bit
	}
	return true
}

// Code is the configuration words of an event, indexed by [Word].
type Code [words]uint64
