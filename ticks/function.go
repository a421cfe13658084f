package ticks

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Function counts the calls of a function of the program or of a library that it
// uses, by a uprobe: a breakpoint at the function's first instruction that the
// kernel counts. A call costs the program what [CallCost] says. The kernel wants
// CAP_PERFMON or root. The calls of a thread that the program starts later count
// from some milliseconds after its start on.
type Function struct {
	// Library is the soname or the path of a library; empty for the program's own
	// executable.
	Library string
	// Symbol is the name of the function as in the symbol table: mangled in C++
	// and Rust. A function of a stripped file is named by its address there, such
	// as 0x3a40, which differs from build to build.
	Symbol string
	// Patience is how long Open waits for the library to be loaded; 0 for two
	// seconds.
	Patience time.Duration
}

var _ Source = Function{}

// ParseFunction reads LIBRARY:SYMBOL, or SYMBOL alone for a function of the
// program's executable.
func ParseFunction(text string) (Function, error) {
	f := Function{Symbol: text}
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		f.Library, f.Symbol = text[:at], text[at+1:]
		if f.Library == "" {
			return Function{}, fmt.Errorf("%q: want LIBRARY:SYMBOL or SYMBOL", text)
		}
	}
	if f.Symbol == "" || strings.ContainsAny(text, " \t\r\n\x00") {
		return Function{}, fmt.Errorf("%q: want LIBRARY:SYMBOL or SYMBOL", text)
	}
	return f, nil
}

// Name returns "function LIBRARY:SYMBOL", or "function SYMBOL".
func (f Function) Name() string {
	if f.Library == "" {
		return "function " + f.Symbol
	}
	return "function " + f.Library + ":" + f.Symbol
}

// Prepare tries whether calls can be counted at all. Whether the function exists
// shows when the program runs.
func (f Function) Prepare() (*Run, error) {
	if err := tryUprobe(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.Name(), ErrUnavailable, err)
	}
	return &Run{
		Open: func(pid int) (Counter, error) {
			return newCounter(f.Name(), pid, func() (reader, error) { return f.open(pid) })
		},
		Close: func() error { return nil },
	}, nil
}

func (f Function) patience() time.Duration {
	if f.Patience == 0 {
		return 2 * time.Second
	}
	return f.Patience
}

// open waits until the program has loaded the library.
func (f Function) open(pid int) (reader, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		m, err := findModule(pid, f.Library)
		if errors.Is(err, errNotLoaded) && time.Since(begin) < f.patience() && isRunning(pid) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		offset, err := f.offset(m.file)
		if err != nil && f.Library == "" && time.Since(begin) < f.patience() && isRunning(pid) {
			continue // a shell, env or taskset may be about to execute the program
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, m.path, err)
		}
		return openUprobe(pid, m.file, offset)
	}
}

// offset returns the place of the function in its file.
func (f Function) offset(name string) (uint64, error) {
	if strings.HasPrefix(f.Symbol, addressPrefix) {
		return startOffset(name, f.Symbol)
	}
	symbols, err := readSymbols(name)
	if err != nil {
		return 0, err
	}
	return symbols.offset(f.Symbol)
}

// isRunning also holds for a process of which the kernel does not tell.
func isRunning(pid int) bool {
	p, err := openProcess(pid)
	if err != nil {
		return !errors.Is(err, ErrEnded)
	}
	defer func() { _ = p.close() }()
	return !p.ended()
}

func explainUprobe(err error) error {
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("counting calls needs root or the capability PERFMON: sudo setcap cap_perfmon+ep \"$(command -v bandmate)\" (%w)", err)
	case errors.Is(err, syscall.ENOSYS):
		return fmt.Errorf("the kernel or a sandbox offers no perf events (%w)", err)
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: the kernel sets no breakpoint there: the first instruction cannot be replaced, or the file system does not allow it (%w)", ErrUnavailable, err)
	}
	return err
}

// tryUprobe sets a breakpoint at the entry of this program, which nothing reaches
// any more.
func tryUprobe() error {
	const self = "/proc/self/exe"
	entry, err := entryOffset(self)
	if err != nil {
		return err
	}
	u, err := newUprobe(self, entry)
	if err != nil {
		return err
	}
	event, err := u.openThread(unix.Gettid())
	if err != nil {
		return errors.Join(explainUprobe(err), u.close())
	}
	return errors.Join(event.Close(), u.close())
}

// sameName reports whether a library that was asked for is the one of a path: by
// its path, its file name, or its file name without what follows ".so".
func sameName(asked, path string) bool {
	if strings.Contains(asked, "/") {
		return asked == path
	}
	base := filepath.Base(path)
	return asked == base || strings.HasPrefix(base, asked+".") && strings.HasSuffix(asked, ".so")
}
