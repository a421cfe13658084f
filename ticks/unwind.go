package ticks

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// code is what a file executes, with the addresses at which its functions start.
// It knows stripped functions too.
type code struct {
	segments []elf.ProgHeader
	starts   []uint64 // ascending
}

// errNoStarts is wrapped when a file does not say where its functions start.
var errNoStarts = errors.New("it does not say where its functions start (no table in .eh_frame_hdr)")

// readCode reads the table that unwinding uses, which stripping leaves (Linux
// Standard Base, "Exception Frame Header"):
//
//	version 1 | encodings of the pointer 0x1b, the count 0x03, the table 0x3b
//	pointer, 4 bytes | count, 4 bytes
//	address of a function and of its description, 4 bytes each, relative to
//	the section; …
func readCode(file *elf.File) (*code, error) {
	c := &code{}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			c.segments = append(c.segments, p.ProgHeader)
		}
	}
	section := file.Section(".eh_frame_hdr")
	if section == nil {
		return nil, errNoStarts
	}
	data, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStarts, err)
	}
	const (
		head, entry = 12, 8
		countUint32 = 0x03 // DW_EH_PE_udata4
		tableInt32  = 0x3b // DW_EH_PE_datarel | DW_EH_PE_sdata4
	)
	if len(data) < head || data[0] != 1 || data[2] != countUint32 || data[3] != tableInt32 {
		return nil, errNoStarts
	}
	count := min(int(file.ByteOrder.Uint32(data[8:])), (len(data)-head)/entry)
	for i := range count { // signed numbers
		relative := int32(file.ByteOrder.Uint32(data[head+entry*i:]))
		c.starts = append(c.starts, section.Addr+uint64(int64(relative)))
	}
	slices.Sort(c.starts)
	return c, nil
}

// addressOf returns the address in the file of a place in it.
func (c *code) addressOf(offset uint64) (address uint64, ok bool) {
	for _, s := range c.segments {
		if offset >= s.Off && offset-s.Off < s.Filesz {
			return offset - s.Off + s.Vaddr, true
		}
	}
	return 0, false
}

// offsetOf returns the place in the file of an address in it.
func (c *code) offsetOf(address uint64) (offset uint64, ok bool) {
	for _, s := range c.segments {
		if address >= s.Vaddr && address-s.Vaddr < s.Filesz {
			return address - s.Vaddr + s.Off, true
		}
	}
	return 0, false
}

// function returns where the function starts that an address belongs to.
func (c *code) function(address uint64) (start uint64, ok bool) {
	i, exact := slices.BinarySearch(c.starts, address)
	if exact {
		return address, true
	}
	if i == 0 {
		return 0, false
	}
	return c.starts[i-1], true
}

// addressPrefix begins the symbol of a function without a name.
const addressPrefix = "0x"

// addressSymbol names a function by its address in the file.
func addressSymbol(address uint64) string {
	return addressPrefix + strconv.FormatUint(address, 16)
}

// startOffset returns the place in a file of the function that an address symbol
// names.
func startOffset(name, symbol string) (uint64, error) {
	address, err := strconv.ParseUint(strings.TrimPrefix(symbol, addressPrefix), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no address: %w", symbol, err)
	}
	file, err := elfOpen(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	c, err := readCode(file)
	if err != nil {
		return 0, err
	}
	start, ok := c.function(address)
	offset, executable := c.offsetOf(address)
	if !ok || start != address || !executable {
		return 0, fmt.Errorf("no function starts at %s: addresses differ from build to build", symbol)
	}
	return offset, nil
}

// words yields the words of a stack, the last one first pushed.
func words(stack []byte) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for ; len(stack) >= 8; stack = stack[8:] {
			if !yield(binary.NativeEndian.Uint64(stack)) {
				return
			}
		}
	}
}
