package ticks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// IO counts the input and output of the program: bytes, or calls of the system,
// to and from files, pipes and terminals (proc_pid_io(5)). Mapped memory and most
// of the network do not count. It costs the program nothing, and is as fine as
// the program's buffers.
type IO struct{ Kind IOKind }

// IOKind is a line of /proc/PID/io.
type IOKind string

// The kinds that count, by their names in the file.
const (
	BytesRead    IOKind = "rchar"
	BytesWritten IOKind = "wchar"
	ReadCalls    IOKind = "syscr"
	WriteCalls   IOKind = "syscw"
)

var ioNames = map[IOKind]string{
	BytesRead: "bytes read", BytesWritten: "bytes written", ReadCalls: "read calls", WriteCalls: "write calls",
}

var _ Source = IO{}

// Name returns the kind in words, such as "bytes read".
func (s IO) Name() string { return ioNames[s.Kind] }

// Prepare looks at what this process reads.
func (s IO) Prepare() (*Run, error) {
	if _, known := ioNames[s.Kind]; !known {
		return nil, fmt.Errorf("no line %q in /proc/PID/io", s.Kind)
	}
	own, err := openIO(os.Getpid(), s.Kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	return &Run{
		Open: func(pid int) (Counter, error) {
			return newCounter(s.Name(), pid, func() (reader, error) { return openIO(pid, s.Kind) })
		},
		Close: func() error { return nil },
	}, own.close()
}

// ioTree reads the lines of a process and of its descendants.
type ioTree struct {
	stop func()
	// readFile reads the line of a process.
	readFile func(*os.File) (float64, error)

	mu    sync.Mutex
	root  int // the program itself
	files map[int]*os.File
	// order has every process of files after the one that started it.
	order []int
	// counts are what the processes had counted when they were read last.
	counts map[int]float64
	// apart is how many looks in a row have found a process outside of the tree, because its
	// parent has ended. None of the tree waits for it.
	apart map[int]int
	// ended is what processes had counted that have ended and are in no other count.
	ended float64
	last  float64
}

// surelyApart is the number of looks in a row that tell a process apart: one may miss a
// process that gets another parent.
const surelyApart = 2

func newIOTree(root int, readFile func(*os.File) (float64, error)) *ioTree {
	return &ioTree{root: root, readFile: readFile, files: map[int]*os.File{}, counts: map[int]float64{}, apart: map[int]int{}}
}

func openIO(pid int, kind IOKind) (reader, error) {
	var line ioLine
	t := newIOTree(pid, func(file *os.File) (float64, error) { return line.read(file, kind) })
	file, err := os.Open(ioPath(pid))
	if err == nil {
		t.add(pid, file)
		if _, err = t.readFile(file); err != nil {
			_ = file.Close()
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("no %s; the kernel needs CONFIG_TASK_IO_ACCOUNTING", ioPath(pid))
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("%w; run it as the user of the program, or as root", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	t.stop = follow(func() { t.look(descendants(pid)) })
	return t, nil
}

func ioPath(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/io" }

// look opens the files of new processes, of those that descend from the first, and finds
// those that do so no longer.
func (t *ioTree) look(found []int) {
	for _, pid := range found {
		t.mu.Lock()
		if t.files[pid] == nil {
			if file, err := os.Open(ioPath(pid)); err == nil {
				t.add(pid, file)
			}
		}
		t.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range t.order {
		if pid == t.root || slices.Contains(found, pid) {
			delete(t.apart, pid)
		} else if _, err := t.readFile(t.files[pid]); err == nil { // it was there all the time
			t.apart[pid]++
		}
	}
}

func (t *ioTree) add(pid int, file *os.File) {
	t.files[pid] = file
	t.order = append(t.order, pid)
}

// read adds up all processes, parents first. When a process has been waited for, its
// parent has its count: that of a parent read after it would count it twice. The sum may be
// short instead, and the last one holds. A sum that is still short in the next read lacks
// the count of a process for which nobody waited, or of one that has become a program of
// another user, such as sudo, which may not be read.
func (t *ioTree) read() (float64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum, mayBeShort := 0.0, false
	for _, pid := range slices.Clone(t.order) {
		n, err := t.readFile(t.files[pid])
		switch {
		case errors.Is(err, syscall.ESRCH), errors.Is(err, os.ErrNotExist), pid != t.root && errors.Is(err, os.ErrPermission):
			if t.apart[pid] >= surelyApart {
				t.ended += t.counts[pid]
			} else {
				mayBeShort = true
			}
			t.remove(pid)
		case err != nil:
			return 0, fmt.Errorf("%w: %w", ErrLost, err)
		default:
			t.counts[pid] = n
			sum += n
		}
	}
	if len(t.files) == 0 {
		return 0, fmt.Errorf("%w: no process is left", ErrLost)
	}
	if sum += t.ended; sum < t.last && !mayBeShort {
		t.ended += t.last - sum
	}
	t.last = max(t.last, sum)
	return t.last, nil
}

// remove forgets a process that has ended or may not be read.
func (t *ioTree) remove(pid int) {
	t.files[pid].Close()
	delete(t.files, pid)
	delete(t.counts, pid)
	delete(t.apart, pid)
	t.order = slices.DeleteFunc(t.order, func(p int) bool { return p == pid })
}

// ioLine is the memory for the file of a process.
type ioLine [512]byte

// read reads a line of proc_pid_io(5):
//
//	rchar: 323934931
//	wchar: 323929600
//	syscr: 632687
func (l *ioLine) read(file *os.File, kind IOKind) (float64, error) {
	n, err := syscall.Pread(int(file.Fd()), l[:], 0)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file.Name(), err)
	}
	for line := range bytes.Lines(l[:n]) {
		key, value, _ := bytes.Cut(line, []byte(": "))
		if string(key) == string(kind) {
			count, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
			return float64(count), err
		}
	}
	return 0, fmt.Errorf("%s: no line %q", file.Name(), kind)
}

func (t *ioTree) close() error {
	t.stop()
	var faults []error
	for _, file := range t.files {
		faults = append(faults, file.Close())
	}
	return errors.Join(faults...)
}
