package ticks

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const dtSoname = elf.DT_SONAME

// elfOpen opens an executable or a library. Package elf checks what it reads, but
// a damaged file may still make it panic.
func elfOpen(name string) (*elf.File, error) {
	file, err := elf.Open(name)
	if err != nil {
		return nil, fmt.Errorf("not an executable that can be read: %w", err)
	}
	return file, nil
}

// symbols are the functions of a file.
type symbols struct {
	// offsets are the places of the functions in the file.
	offsets map[string]uint64
	// imported are the functions that the file calls in others.
	imported map[string]bool
	// resolved are functions for which the loader chooses one of several
	// (STT_GNU_IFUNC): what is at their place is called once.
	resolved map[string]bool
}

// sttGNUIfunc is the type of a function that another one chooses.
const sttGNUIfunc = elf.STT_LOOS

// readSymbols reads the dynamic symbols and those for linking; a stripped file
// has only the former, a static one only the latter.
func readSymbols(name string) (*symbols, error) {
	file, err := elfOpen(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	s := &symbols{offsets: map[string]uint64{}, imported: map[string]bool{}, resolved: map[string]bool{}}
	for _, read := range []func() ([]elf.Symbol, error){file.DynamicSymbols, file.Symbols} {
		list, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return nil, fmt.Errorf("its symbols cannot be read: %w", err)
		}
		// Of several versions of a function, programs call the default one.
		slices.SortStableFunc(list, func(a, b elf.Symbol) int { return compareBools(!isOld(a), !isOld(b)) })
		for _, symbol := range list {
			s.add(file, symbol)
		}
	}
	return s, nil
}

func (s *symbols) add(file *elf.File, symbol elf.Symbol) {
	name, _, _ := strings.Cut(symbol.Name, "@")
	kind := elf.ST_TYPE(symbol.Info)
	switch {
	case name == "":
	case symbol.Section == elf.SHN_UNDEF:
		if kind == elf.STT_FUNC || kind == elf.STT_NOTYPE {
			s.imported[name] = true
		}
	case kind == sttGNUIfunc:
		s.resolved[name] = true
		delete(s.offsets, name)
	case kind == elf.STT_FUNC:
		if offset, ok := offsetOf(file, symbol.Value); ok {
			s.offsets[name] = offset
		}
	}
}

// isOld reports a version of a function for programs that were linked before a newer one
// existed.
func isOld(symbol elf.Symbol) bool {
	_, version, named := strings.Cut(symbol.Name, "@") // in tables for linking
	return symbol.HasVersion && symbol.VersionIndex.IsHidden() || named && !strings.HasPrefix(version, "@")
}

// names returns one name for each function of the file: of several names for a
// function, the one with the fewest leading underscores, then the shortest, so that
// each search takes the same one and none tries a function twice.
func (s *symbols) names() map[uint64]string {
	names := make(map[uint64]string, len(s.offsets))
	for name, offset := range s.offsets {
		if known, ok := names[offset]; !ok || plainer(name, known) < 0 {
			names[offset] = name
		}
	}
	return names
}

func plainer(a, b string) int {
	underscores := func(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }
	return cmp.Or(cmp.Compare(underscores(a), underscores(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// offsetOf returns the place in the file of an address of its code.
func offsetOf(file *elf.File, address uint64) (offset uint64, ok bool) {
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && address >= p.Vaddr && address-p.Vaddr < p.Filesz {
			return address - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}

func entryOffset(name string) (uint64, error) {
	file, err := elfOpen(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	offset, ok := offsetOf(file, file.Entry)
	if !ok {
		return 0, fmt.Errorf("%s: its entry lies in no code", name)
	}
	return offset, nil
}

// offset returns the place of a function in the file. The name may end in its default version,
// as nm writes it: deflate@@ZLIB_1.2.
func (s *symbols) offset(name string) (uint64, error) {
	name, _, _ = strings.Cut(name, "@@")
	offset, ok := s.offsets[name]
	switch {
	case ok:
		return offset, nil
	case s.resolved[name]:
		return 0, fmt.Errorf("%q is one of several functions, chosen when the program starts; name another", name)
	case s.imported[name]:
		return 0, fmt.Errorf("%q is called there and lies in a library; name it as LIBRARY:%s", name, name)
	case len(s.offsets) == 0:
		return 0, fmt.Errorf("it names no functions, so it is stripped; use one with symbols, or a library's function")
	}
	if near := s.near(name); len(near) > 0 {
		return 0, fmt.Errorf("no function %q; did you mean %s?", name, strings.Join(near, ", "))
	}
	return 0, fmt.Errorf("no function %q among its %d", name, len(s.offsets))
}

// near lists up to five functions whose names are like one.
func (s *symbols) near(name string) []string {
	type match struct {
		name     string
		distance int
	}
	var found []match
	wanted := strings.ToLower(name)
	for candidate := range s.offsets {
		lower := strings.ToLower(candidate)
		d := distance(wanted, lower)
		if strings.Contains(lower, wanted) {
			d = min(d, 1+(len(lower)-len(wanted))/8)
		}
		if d <= 1+len(name)/4 {
			found = append(found, match{candidate, d})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, m := range found[:min(len(found), 5)] {
		names = append(names, m.name)
	}
	return names
}

// distance is the number of letters to insert, delete or replace (Levenshtein
// 1966); the difference of the lengths alone where that is large.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 8 || d < -8 {
		return max(d, -d)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
