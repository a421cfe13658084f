package ticks

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// together is how many functions are tried at the same time.
	together = 8
	// glance is how long a function is tried for at first.
	glance = 8 * time.Millisecond
	// mostEvents bounds the uprobes of a search, one for each function and thread:
	// each takes the kernel a tenth of a second to remove. mostBreakpoints bounds
	// the functions that are tried by breakpoints of the processor.
	mostEvents, mostBreakpoints = 80, 240
	// shortlist is how many functions are watched for longer: to set a uprobe may
	// take the kernel a fifth of a second.
	shortlist = 2
)

// place is a function with where it is in a file.
type place struct {
	function Function
	file     string
	offset   uint64
}

// scan glances at functions, some at a time, and returns those that are called at a
// useful rate.
func (s *search) scan(ctx context.Context) ([]*watched, error) {
	regions, places := s.places()
	rates := map[Function]float64{}
	end := time.Now().Add(time.Until(s.until) / 2)
	for len(places) > 0 && ctx.Err() == nil && time.Now().Before(end) {
		if isOther, err := s.ensure(ctx); err != nil {
			return nil, err
		} else if isOther {
			if regions, err = regionsOf(s.pid); err != nil {
				return nil, err
			}
		}
		tried, unavailable := s.glance(places[:min(len(places), breakpoints)], rates, func(p place) (reader, error) { return breakAt(s.pid, regions, p) })
		if unavailable {
			places = places[:min(len(places), max(together, mostEvents/max(1, len(threadsOf(s.pid)))))]
			tried, _ = s.glance(places[:min(len(places), together)], rates, func(p place) (reader, error) { return p.function.glance(s.pid) })
		}
		places = places[tried:]
	}
	maps.DeleteFunc(rates, func(_ Function, rate float64) bool { return rate < s.LeastRate || rate > s.MostRate })
	// What is called more often resolves shorter slices.
	useful := slices.SortedFunc(maps.Keys(rates), func(a, b Function) int {
		return cmp.Or(cmp.Compare(rates[b], rates[a]), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Symbol, b.Symbol))
	})
	var sources []*watched
	for _, f := range useful[:min(len(useful), shortlist)] {
		sources = append(sources, &watched{source: f})
	}
	return sources, nil
}

// glance counts functions for some milliseconds and adds their rates. One that is
// called too often is let go at once. It returns how many were tried, and whether
// none of them could be counted.
func (s *search) glance(batch []place, rates map[Function]float64, open func(place) (reader, error)) (tried int, unavailable bool) {
	counted := map[Function]reader{}
	for _, p := range batch {
		if r, err := open(p); err == nil {
			counted[p.function] = r
		}
	}
	if len(counted) == 0 {
		return len(batch), true
	}
	begin := time.Now()
	const looks = 4
	for range looks {
		time.Sleep(glance / looks)
		for f, r := range counted {
			n, err := r.read()
			rates[f] = n / time.Since(begin).Seconds()
			if err != nil || n > s.MostRate*glance.Seconds() {
				_ = r.close()
				delete(counted, f)
			}
		}
	}
	for _, r := range counted {
		s.opened = append(s.opened, r)
	}
	s.letGo()
	return len(batch), false
}

// glance counts in the threads that run now.
func (f Function) glance(pid int) (reader, error) {
	m, err := findModule(pid, f.Library)
	if err != nil {
		return nil, err
	}
	offset, err := f.offset(m.file)
	if err != nil {
		return nil, err
	}
	u, err := newUprobe(m.file, offset)
	if err != nil {
		return nil, err
	}
	u.addThreads(pid)
	if err := u.fault(); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

// places returns the functions that are worth trying, and what the program
// executes; nothing where functions cannot be counted: the program may have other
// ticks.
func (s *search) places() (regions, []place) {
	if tryUprobe() != nil {
		return nil, nil
	}
	r, err := regionsOf(s.pid)
	if err != nil {
		return nil, nil
	}
	places, err := s.functions(r)
	if err != nil {
		return nil, nil
	}
	return r, places
}

// mostActive bounds the functions that are tried because the program is in them.
const mostActive = 48

// functions lists the functions that may be worth trying: those that the program is
// in or has called lately, the C library's last, then by their names.
func (s *search) functions(r regions) ([]place, error) {
	found, err := active(s.pid, r)
	if err != nil {
		found = nil // they are known by their names
	}
	slices.SortStableFunc(found, func(a, b place) int {
		return compareBools(isSystem(a.function.Library), isSystem(b.function.Library))
	})
	found = found[:min(len(found), mostActive)]
	named, err := s.named()
	if err != nil {
		return nil, err
	}
	for _, p := range named {
		if !slices.ContainsFunc(found, func(other place) bool { return other.function == p.function }) {
			found = append(found, p)
		}
	}
	return found[:min(len(found), mostBreakpoints)], nil
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// named lists functions by the names that files have for them, in random order
// within each kind: those that the program imports from libraries other than the C
// library; those of its executable; those that it imports from the C library; and
// those that libraries import from each other.
func (s *search) named() ([]place, error) {
	used, err := modules(s.pid)
	if err != nil {
		return nil, err
	}
	tables := make([]*symbols, len(used))
	byLibraries := map[string]bool{}
	for i, m := range used {
		table, err := readSymbols(m.file)
		if err != nil {
			table = &symbols{}
		}
		tables[i] = table
		if i > 0 && !isSystem(m.path) {
			maps.Copy(byLibraries, table.imported)
		}
	}
	var kinds [4][]place
	for i, m := range used {
		kindOf := map[uint64]int{}
		for name, offset := range tables[i].offsets {
			imported, kind := tables[0].imported[name], 3
			switch {
			case i == 0 && isStartUp(name), i > 0 && !imported && !byLibraries[name]:
				continue
			case i == 0:
				kind = 1
			case imported && !isSystem(m.path):
				kind = 0
			case imported:
				kind = 2
			}
			if known, ok := kindOf[offset]; !ok || kind < known {
				kindOf[offset] = kind
			}
		}
		library, names := filepath.Base(m.path), tables[i].names()
		if i == 0 {
			library = ""
		}
		for offset, kind := range kindOf {
			kinds[kind] = append(kinds[kind], place{Function{Library: library, Symbol: names[offset]}, m.file, offset})
		}
	}
	for _, kind := range kinds {
		rand.Shuffle(len(kind), func(i, j int) { kind[i], kind[j] = kind[j], kind[i] })
	}
	return slices.Concat(kinds[:]...), nil
}

// isSystem reports whether a library belongs to the C library, which calls its
// own functions.
func isSystem(path string) bool {
	base := filepath.Base(path)
	return slices.ContainsFunc([]string{"libc.", "libc-", "libm.", "libm-", "ld-", "libpthread", "libdl.", "librt."}, func(prefix string) bool {
		return strings.HasPrefix(base, prefix)
	})
}

// isStartUp reports whether a function runs only at the beginning or the end.
func isStartUp(name string) bool {
	return name == "main" || strings.HasPrefix(name, "_start") || strings.HasPrefix(name, "_init") || strings.HasPrefix(name, "_fini")
}
