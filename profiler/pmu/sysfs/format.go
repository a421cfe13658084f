package sysfs

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
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
	// Bits are positions in the word, from the term's lowest bit to its highest;
	// no position occurs twice.
	Bits []uint
}

// ParseField reads a file of the folder format:
//
//	config:0-7
//	config:0-7,32-37    the upper bits of a number lie apart
//	config1:3
func ParseField(text string) (Field, error) {
	word, ranges, found := strings.Cut(strings.TrimSpace(text), ":")
	if !found {
		return Field{}, fmt.Errorf("%q has no colon; want bits of a word, such as config:0-7,32-35", text)
	}
	field := Field{Word: words}
	for w := range words {
		if word == w.String() {
			field.Word = w
		}
	}
	if field.Word == words {
		return Field{}, fmt.Errorf("%q is none of config, config1 and config2", word)
	}
	var taken uint64
	for part := range strings.SplitSeq(ranges, ",") {
		low, high, err := parseBits(part)
		if err != nil {
			return Field{}, err
		}
		for bit := low; bit <= high; bit++ {
			if taken&(1<<bit) != 0 {
				return Field{}, fmt.Errorf("bit %d occurs twice in %q", bit, text)
			}
			taken |= 1 << bit
			field.Bits = append(field.Bits, bit)
		}
	}
	return field, nil
}

func parseBits(text string) (low, high uint, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if low, err = parseBit(first); err != nil {
		return 0, 0, err
	}
	if !isRange {
		return low, low, nil
	}
	if high, err = parseBit(last); err != nil {
		return 0, 0, err
	}
	if high < low {
		return 0, 0, fmt.Errorf("the range %q falls", text)
	}
	return low, high, nil
}

func parseBit(text string) (uint, error) {
	bit, err := strconv.ParseUint(text, 10, 32)
	if err != nil || bit >= wordBits {
		return 0, fmt.Errorf("%q is not a bit from 0 to %d", text, wordBits-1)
	}
	return uint(bit), nil
}

// String writes f as the kernel does; [ParseField] reads it back.
func (f Field) String() string {
	var b strings.Builder
	b.WriteString(f.Word.String())
	separator := ":"
	for i := 0; i < len(f.Bits); {
		j := i
		for j+1 < len(f.Bits) && f.Bits[j+1] == f.Bits[j]+1 {
			j++
		}
		fmt.Fprintf(&b, "%s%d", separator, f.Bits[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", f.Bits[j])
		}
		separator = ","
		i = j + 1
	}
	return b.String()
}

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
