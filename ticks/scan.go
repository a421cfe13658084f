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
	// mostEvents bounds the breakpoints of a search, one for each function and
	// thread: each takes the kernel a tenth of a second to remove.
	mostEvents = 80
	// shortlist is how many functions are watched for longer.
	shortlist = 6
)

// place is a function with where it is in a file.
type place struct {
	function Function
	file     string
	offset   uint64
}

// scan glances at functions, some at a time, and returns those that are called at a
// useful rate. Functions that are not called stay open: they cost nothing.
func (s *search) scan(ctx context.Context) ([]*watched, error) {
	places, err := s.functions()
	if err != nil || len(places) == 0 || tryUprobe() != nil {
		return nil, nil // the program may have other ticks
	}
	places = places[:min(len(places), max(together, mostEvents/max(1, len(threadsOf(s.pid)))))]
	end := time.Now().Add(time.Until(s.until) / 2)
	var tried []*watched
	for batch := range slices.Chunk(places, together) {
		if ctx.Err() != nil || time.Now().After(end) {
			break
		}
		if err := s.ensure(ctx); err != nil {
			return nil, err
		}
		tried = append(tried, s.glance(batch)...)
	}
	time.Sleep(glance)
	rate := map[*watched]float64{}
	useful := slices.DeleteFunc(tried, func(w *watched) bool {
		w.sample() // since its glance; a run that has ended leaves that alone
		if len(w.rates) > 0 {
			rate[w] = w.rates[len(w.rates)-1]
		}
		return rate[w] < s.LeastRate || rate[w] > s.MostRate
	})
	// What is called more often resolves shorter slices.
	slices.SortFunc(useful, func(a, b *watched) int { return cmp.Compare(rate[b], rate[a]) })
	useful = useful[:min(len(useful), shortlist)]
	if err := s.ensure(ctx); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(useful, func(w *watched) bool { return !s.reopen(w) }), nil
}

// glance counts functions for some milliseconds. One that is called too often is
// let go at once.
func (s *search) glance(batch []place) (open []*watched) {
	for _, p := range batch {
		counter, err := newCounter(p.function.Name(), s.pid, func() (reader, error) { return glanceAt(s.pid, p) })
		if err == nil {
			open = append(open, s.add(p.function, counter))
		}
	}
	const looks = 4
	for range looks {
		time.Sleep(glance / looks)
		open = slices.DeleteFunc(open, func(w *watched) bool {
			n, err := w.counter.Read()
			isTooMuch := err == nil && n-w.last > s.MostRate*glance.Seconds()
			if isTooMuch {
				s.opened = slices.DeleteFunc(s.opened, func(c Counter) bool { return c == w.counter })
				_ = w.counter.Close()
			}
			return isTooMuch
		})
	}
	for _, w := range open {
		w.sample()
	}
	return open
}

// glanceAt counts in the threads that run now.
func glanceAt(pid int, p place) (reader, error) {
	u, err := newUprobe(p.file, p.offset)
	if err != nil {
		return nil, err
	}
	u.addThreads(pid)
	if err := u.fault(); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

// functions lists the functions that may be worth trying, in random order within
// each kind: those that the program imports from libraries other than the C
// library; those of its executable; those that it imports from the C library; and
// those that libraries import from each other.
func (s *search) functions() ([]place, error) {
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
		for name, offset := range tables[i].offsets {
			f, imported := Function{Library: filepath.Base(m.path), Symbol: name}, tables[0].imported[name]
			kind := 3
			switch {
			case i == 0 && isStartUp(name), i > 0 && !imported && !byLibraries[name]:
				continue
			case i == 0:
				kind, f.Library = 1, ""
			case imported && !isSystem(m.path):
				kind = 0
			case imported:
				kind = 2
			}
			kinds[kind] = append(kinds[kind], place{f, m.file, offset})
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
