package ticks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	goperf "github.com/elastic/go-perf"
)

const (
	// sampled is how long stacks are sampled, sampleRate how often in a second of
	// the program's time, and stackBytes how much of each.
	sampled    = 120 * time.Millisecond
	sampleRate = 999
	stackBytes = 4096
	// ringPages hold the samples; an unprivileged process may map no more.
	ringPages = 128
	// mostSampled bounds the threads that are sampled.
	mostSampled = 4
)

// active lists the functions that the program is in, with those that called them,
// the most frequent first. Return addresses are looked for in samples of the stack,
// word by word, so a few functions may have returned already. Functions without a
// name are named by their address.
func active(pid int, regions regions) ([]place, error) {
	seen := map[place]int{}
	threads := threadsOf(pid)
	for _, thread := range threads[:min(len(threads), mostSampled)] {
		if err := sampleStacks(thread, sampled/time.Duration(min(len(threads), mostSampled)), func(addresses map[uint64]bool) {
			met := map[place]bool{}
			for address := range addresses {
				if p, ok := regions.find(address); ok {
					met[p] = true
				}
			}
			for p := range met {
				seen[p]++
			}
		}); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b place) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	}), nil
}

// sampleStacks calls found with the words of each stack and the address at its top.
func sampleStacks(thread int, during time.Duration, found func(map[uint64]bool)) (err error) {
	attr := &goperf.Attr{
		SampleFormat: goperf.SampleFormat{IP: true, UserStack: true}, SampleStackUser: stackBytes,
		Options: goperf.Options{ExcludeKernel: true, ExcludeHypervisor: true},
	}
	if err := goperf.CPUClock.Configure(attr); err != nil {
		return err
	}
	attr.SetSampleFreq(sampleRate)
	event, err := goperf.Open(attr, thread, goperf.AnyCPU, nil)
	if err != nil {
		return fmt.Errorf("sampling thread %d: %w", thread, err)
	}
	defer func() { err = errors.Join(err, event.Close()) }()
	if err := event.MapRingNumPages(ringPages); err != nil {
		return fmt.Errorf("sampling thread %d: %w", thread, err)
	}
	time.Sleep(during)
	if err := event.Disable(); err != nil {
		return err
	}
	for event.HasRecord() {
		record, err := event.ReadRecord(context.Background())
		if err != nil {
			return fmt.Errorf("sampling thread %d: %w", thread, err)
		}
		sample, ok := record.(*goperf.SampleRecord)
		if !ok {
			continue
		}
		addresses := map[uint64]bool{sample.IP: true}
		stack := sample.UserStack[:min(uint64(len(sample.UserStack)), sample.UserStackDynamicSize)]
		for word := range words(stack) {
			addresses[word] = true
		}
		found(addresses)
	}
	return nil
}

// regions are where a process has mapped code.
type regions []region

type region struct {
	from, to, offset uint64
	module           module
	code             *code
	names            map[uint64]string
	isExecutable     bool
}

// regionsOf reads what a process executes, as far as its files tell.
func regionsOf(pid int) (regions, error) {
	maps, err := readMaps(pid)
	if err != nil {
		return nil, err
	}
	executable, err := findModule(pid, "")
	if err != nil {
		return nil, err
	}
	var found regions
	for _, m := range maps {
		from, to, err := m.bounds()
		if err != nil {
			return nil, err
		}
		opened, err := m.open(pid)
		if err != nil {
			continue
		}
		r := region{from: from, to: to, offset: m.offset, module: opened, isExecutable: m.path == executable.path}
		if r.code, r.names, err = readFunctions(opened.file); err == nil {
			found = append(found, r)
		}
	}
	return found, nil
}

// readFunctions reads where the functions of a file start, and the names that it
// has for them.
func readFunctions(name string) (*code, map[uint64]string, error) {
	file, err := elfOpen(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	c, err := readCode(file)
	if err != nil {
		return nil, nil, err
	}
	table, err := readSymbols(name)
	if err != nil {
		return nil, nil, err
	}
	return c, table.names(), nil
}

// bounds returns the first address of a mapping, and the one behind its last.
func (m mapping) bounds() (from, to uint64, err error) {
	first, last, _ := strings.Cut(m.addresses, "-")
	from, errFrom := strconv.ParseUint(first, 16, 64)
	to, errTo := strconv.ParseUint(last, 16, 64)
	return from, to, errors.Join(errFrom, errTo)
}

// find returns the function that an address of the process belongs to.
func (r regions) find(address uint64) (place, bool) {
	for _, region := range r {
		if address < region.from || address >= region.to {
			continue
		}
		inFile, ok := region.code.addressOf(address - region.from + region.offset)
		if !ok {
			return place{}, false
		}
		start, ok := region.code.function(inFile)
		if !ok {
			return place{}, false
		}
		offset, ok := region.code.offsetOf(start)
		if !ok {
			return place{}, false
		}
		f := Function{Library: filepath.Base(region.module.path), Symbol: region.names[offset]}
		if region.isExecutable {
			f.Library = ""
		}
		if f.Symbol == "" {
			f.Symbol = addressSymbol(start)
		}
		return place{function: f, file: region.module.file, offset: offset}, !isStartUp(f.Symbol)
	}
	return place{}, false
}

// address returns where a function is in the process.
func (r regions) address(f Function, offset uint64) (address uint64, ok bool) {
	for _, region := range r {
		inRegion := offset >= region.offset && offset-region.offset < region.to-region.from
		if inRegion && region.isExecutable == (f.Library == "") && (region.isExecutable || sameName(f.Library, region.module.path)) {
			return region.from + offset - region.offset, true
		}
	}
	return 0, false
}
