package ticks

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/profiler/pmu/perf"
)

func TestIO(t *testing.T) {
	program, _ := buildWorker(t)
	s := startWorker(t, program)
	bytes, calls := open(t, prepare(t, IO{BytesRead}), s.pid), open(t, prepare(t, IO{ReadCalls}), s.pid)
	before := [2]float64{}
	for i, c := range []Counter{bytes, calls} {
		n, err := c.Read()
		if err != nil {
			t.Fatal(err)
		}
		before[i] = n
	}
	// The question is read, too: at most 20 bytes in a call.
	s.ask("read 1000")
	for i, want := range []float64{1000 * 100, 1000} {
		n, err := []Counter{bytes, calls}[i].Read()
		if n -= before[i]; err != nil || n < want || n > want+20 {
			t.Errorf("%d: counted %v, %v; want %v to 20 more", i, n, err, want)
		}
	}
	s.finish()
	if _, err := bytes.Read(); !errors.Is(err, ErrEnded) {
		t.Errorf("the program has ended: %v", err)
	}
	if _, err := (IO{"lines"}).Prepare(); err == nil {
		t.Error("prepared an unknown kind")
	}
}

func TestIOOfTree(t *testing.T) {
	program, _ := buildWorker(t)
	s := start(t, shell(program+"; exit 0"))
	c := open(t, prepare(t, IO{BytesRead}), s.pid)
	before, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	s.ask("read 1000")
	if n, err := c.Read(); err != nil || n-before < 1000*100 {
		t.Errorf("counted %v, %v; want what the child reads", n-before, err)
	}
}

// ioTreeOf returns a tree of processes that count what counts says, and have ended where it
// says nothing.
func ioTreeOf(t *testing.T, counts map[int]float64, pids ...int) *ioTree {
	t.Helper()
	of := map[*os.File]int{}
	tree := newIOTree(1, func(file *os.File) (float64, error) {
		if n, ok := counts[of[file]]; ok {
			return n, nil
		}
		return 0, syscall.ESRCH
	})
	tree.stop = func() {}
	for _, pid := range pids {
		file, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		of[file] = pid
		tree.add(pid, file)
	}
	t.Cleanup(func() {
		if err := tree.close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func wantIO(t *testing.T, tree *ioTree, want float64) {
	t.Helper()
	if n, err := tree.read(); n != want || err != nil {
		t.Errorf("%v, %v; want %v", n, err, want)
	}
}

// Looks go on until the counter is closed, also when no process is left.
func TestIOWithoutProcesses(t *testing.T) {
	counts := map[int]float64{1: 100, 2: 50}
	tree := ioTreeOf(t, counts, 1, 2)
	delete(counts, 1)
	wantIO(t, tree, 50)
	tree.look(nil)
	if tree.apart[2] != 1 {
		t.Errorf("a process without the program is not apart: %v", tree.apart)
	}
	delete(counts, 2)
	if _, err := tree.read(); !errors.Is(err, ErrLost) {
		t.Errorf("read without processes: %v, want %v", err, ErrLost)
	}
	tree.look(nil)
}

func TestIOOfEndedChildren(t *testing.T) {
	counts := map[int]float64{1: 100, 2: 1000}

	// The parent waits for it, after it was read itself and before the child is.
	tree := ioTreeOf(t, counts, 1, 2)
	wantIO(t, tree, 1100)
	delete(counts, 2)
	wantIO(t, tree, 1100)
	counts[1] = 1101
	wantIO(t, tree, 1101)

	// Nobody waits, which the next read tells.
	counts[1], counts[2] = 100, 1000
	tree = ioTreeOf(t, counts, 1, 2)
	wantIO(t, tree, 1100)
	delete(counts, 2)
	wantIO(t, tree, 1100)
	wantIO(t, tree, 1100)
	counts[1]++
	wantIO(t, tree, 1101)

	// Its own parent has ended before, so that it has been outside of the tree.
	counts[1], counts[2] = 100, 1000
	tree = ioTreeOf(t, counts, 1, 2)
	wantIO(t, tree, 1100)
	for range surelyApart {
		tree.look(nil)
	}
	delete(counts, 2)
	counts[1]++
	wantIO(t, tree, 1101)

	// It was missed once, or has ended when it is missed.
	counts[1], counts[2] = 100, 1000
	tree = ioTreeOf(t, counts, 1, 2)
	wantIO(t, tree, 1100)
	tree.look(nil)
	tree.look([]int{2})
	tree.look(nil)
	delete(counts, 2)
	counts[1] = 1101
	tree.look(nil)
	wantIO(t, tree, 1101)
}

// A program that starts sudo, ping or another one with privileges may not read what that
// does.
func TestIOOfPrivilegedChild(t *testing.T) {
	counts := map[int]float64{1: 100, 2: 10}
	tree := ioTreeOf(t, counts, 1, 2)
	wantIO(t, tree, 110)
	readFile, child := tree.readFile, tree.files[2]
	tree.readFile = func(file *os.File) (float64, error) {
		if file == child {
			return 0, syscall.EACCES
		}
		return readFile(file)
	}
	wantIO(t, tree, 110)
	wantIO(t, tree, 110)
	counts[1] = 150
	wantIO(t, tree, 160)
	tree.readFile = func(*os.File) (float64, error) { return 0, syscall.EACCES }
	if _, err := tree.read(); !errors.Is(err, ErrLost) || !errors.Is(err, os.ErrPermission) {
		t.Errorf("the program itself may not be read: %v, want %v", err, ErrLost)
	}
}

func BenchmarkReadIO(b *testing.B) {
	c := open(b, prepare(b, IO{BytesRead}), os.Getpid())
	for b.Loop() {
		if _, err := c.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestInstructions(t *testing.T) {
	if err := (Instructions{}).try(); err != nil {
		if _, err := (Instructions{}).Prepare(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v, want %v", err, ErrUnavailable)
		}
		t.Skipf("no instructions here: %v", err) // virtual machines have none, whatever is promised
	}
	program, _ := buildWorker(t)
	s := startWorker(t, program)
	c := open(t, prepare(t, Instructions{}), s.pid)
	last := 0.0
	for _, what := range []string{"step 1000000", "thread 1000000", "fork 1000000"} {
		s.ask(what)
		n, err := c.Read()
		// A step has some ten instructions; a start of a process some hundred thousand.
		if err != nil || n-last < 5e6 || n-last > 60e6 {
			t.Errorf("%s: counted %v more, %v", what, n-last, err)
		}
		last = n
	}
}

// forbidden opens nothing.
type forbidden struct {
	perf.Opener
	err error
}

func (f forbidden) OpenThread(int, perf.Event) (perf.Group, error) { return nil, f.err }

func TestInstructionsUnavailable(t *testing.T) {
	for _, err := range []error{os.ErrPermission, errors.New("odd")} {
		if _, got := (Instructions{Opener: forbidden{err: err}}).Prepare(); !errors.Is(got, ErrUnavailable) || !errors.Is(got, err) {
			t.Errorf("%v, want %v", got, err)
		}
	}
}

func TestRefuseHybrid(t *testing.T) {
	const devices = "bus/event_source/devices/"
	for _, test := range []struct {
		names  []string
		hybrid bool
	}{
		{[]string{"cpu", "power"}, false},
		{[]string{"cpu_core", "cpu_atom"}, true},
		{[]string{"cpu_core"}, false},
		{nil, false},
	} {
		sys := fstest.MapFS{}
		for _, name := range test.names {
			sys[devices+name+"/type"] = &fstest.MapFile{Data: []byte("4\n")}
		}
		if err := refuseHybrid(sys); (err != nil) != test.hybrid {
			t.Errorf("devices %q: %v", test.names, err)
		}
	}
}

func TestReadCount(t *testing.T) {
	for content, want := range map[string]error{"": io.ErrUnexpectedEOF, "123": io.ErrUnexpectedEOF, "\x00\x00\x00\x00\x00\x00\x00\x00": nil} {
		name := filepath.Join(t.TempDir(), "event")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		n, err := readCount(int(file.Fd()))
		if n != 0 || !errors.Is(err, want) || err != nil && strings.Contains(err.Error(), "%!") {
			t.Errorf("of %d bytes: %v, %v; want %v", len(content), n, err, want)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkReadInstructions(b *testing.B) {
	run, err := Instructions{}.Prepare()
	if err != nil {
		requires.Unmet(b, "needs counters: %v", err)
	}
	c := open(b, run, os.Getpid())
	for b.Loop() {
		if _, err := c.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
