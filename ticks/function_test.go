package ticks

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/requires"
)

// compile makes an executable of files in testdata.
func compile(t testing.TB, output string, arguments ...string) {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		requires.Unmet(t, "needs gcc: %v", err)
	}
	out, err := exec.Command(compiler, append([]string{"-O1", "-Wall", "-Werror", "-o", output}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
}

// buildWorker compiles testdata/worker.c and its library.
func buildWorker(t testing.TB) (program, library string) {
	t.Helper()
	dir := t.TempDir()
	library = filepath.Join(dir, "libworker.so.1.0")
	program = filepath.Join(dir, "worker")
	compile(t, library, "-shared", "-fPIC", "-Wl,-soname,libworker.so.1", "testdata/library.c")
	if err := os.Symlink(library, filepath.Join(dir, "libworker.so.1")); err != nil {
		t.Fatal(err)
	}
	compile(t, program, "testdata/worker.c", library, "-Wl,-rpath,"+dir, "-pthread")
	return program, library
}

func startWorker(t testing.TB, program string) started {
	t.Helper()
	s := start(t, exec.Command(program))
	if s.said != "ready" {
		t.Fatalf("the worker says %q", s.said)
	}
	return s
}

func needUprobe(t testing.TB) {
	t.Helper()
	if err := tryUprobe(); err != nil {
		requires.Unmet(t, "needs uprobes: %v", err)
	}
}

func TestFunction(t *testing.T) {
	needUprobe(t)
	program, library := buildWorker(t)
	s := startWorker(t, program)
	var counters []Counter
	for _, text := range []string{"worker_step", "libworker.so.1:library_step", "libworker.so:library_step", library + ":library_step"} {
		f, err := ParseFunction(text)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != "function "+text {
			t.Errorf("%q is named %q", text, f.Name())
		}
		counters = append(counters, open(t, prepare(t, f), s.pid))
	}
	want := 0.0
	for _, step := range []struct {
		what  string
		calls float64
	}{{"step 1000", 1000}, {"thread 0", 0}, {"fork 0", 0}, {"read 5", 0}} {
		s.ask(step.what)
		want += step.calls
		for _, c := range counters {
			wantCount(t, c, want, nil)
		}
	}
	s.finish()
	for _, c := range counters {
		wantCount(t, c, want, ErrEnded)
	}
}

// Threads and processes that start later are found, and start at all. A busy machine
// takes its time to find them.
func TestFunctionFollows(t *testing.T) {
	needUprobe(t)
	program, _ := buildWorker(t)
	s := startWorker(t, program)
	c := open(t, prepare(t, Function{Symbol: "worker_step"}), s.pid)
	last := 0.0
	for _, what := range []string{"threadrun 3000", "forkrun 3000"} {
		if said := s.ask(what); said != "done" {
			t.Fatalf("%s: the program says %q", what, said)
		}
		n, err := c.Read()
		if err != nil || n <= last {
			t.Errorf("%s: count %v after %v, %v", what, n, last, err)
		}
		last = n
	}
}

func TestFunctionErrors(t *testing.T) {
	needUprobe(t)
	program, library := buildWorker(t)
	stripped, static := filepath.Join(filepath.Dir(program), "stripped"), filepath.Join(filepath.Dir(program), "static")
	compile(t, stripped, "-s", "testdata/worker.c", library, "-Wl,-rpath,"+filepath.Dir(program), "-pthread")
	compile(t, static, "-s", "-static", "testdata/worker.c", "testdata/library.c", "-pthread")
	for _, c := range []struct{ program, function, want string }{
		{program, "worker_stop", "did you mean worker_step?"},
		{program, "library_step", "name it as LIBRARY:library_step"},
		{program, "libworker.so.1:nothing_like_it", "no function"},
		{program, "libnone.so:f", `not "libnone.so"`},
		{stripped, "worker_step", "no function"},
		{static, "worker_step", "stripped"},
	} {
		s := startWorker(t, c.program)
		f, err := ParseFunction(c.function)
		if err != nil {
			t.Fatal(err)
		}
		f.Patience = time.Millisecond
		_, err = prepare(t, f).Open(s.pid)
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.function, err, c.want)
		}
	}
}

// The command may be a wrapper that executes the program in a moment.
func TestFunctionBehindAWrapper(t *testing.T) {
	needUprobe(t)
	program, _ := buildWorker(t)
	s := start(t, shell("echo wrapper; read go; exec "+program))
	type opened struct {
		Counter
		err error
	}
	run := prepare(t, Function{Symbol: "worker_step", Patience: 20 * time.Second})
	done := make(chan opened)
	go func() {
		c, err := run.Open(s.pid)
		done <- opened{c, err}
	}()
	time.Sleep(20 * time.Millisecond)
	if said := s.ask("go"); said != "ready" {
		t.Fatalf("the worker says %q", said)
	}
	c := <-done
	if c.err != nil {
		t.Fatal(c.err)
	}
	defer c.Close()
	s.ask("step 7")
	wantCount(t, c, 7, nil)
}

// The process in which a function was found may end, and another call the same.
func TestFunctionOfOneProcessAfterAnother(t *testing.T) {
	needUprobe(t)
	program, _ := buildWorker(t)
	s := start(t, shell("echo begin; read go; for i in 1 2 3 4; do echo 'run 300' | "+program+" >/dev/null; done; echo over; read end"))
	over := make(chan string)
	go func() { over <- s.ask("go") }()
	c, err := prepare(t, Function{Library: "libworker.so.1", Symbol: "library_step", Patience: 20 * time.Second}).Open(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		if _, err := c.Read(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-over:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A file that was replaced is not the one that runs; root finds that one
// nevertheless.
func TestFunctionOfReplacedFile(t *testing.T) {
	needUprobe(t)
	program, library := buildWorker(t)
	s := startWorker(t, program)
	data, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(library), os.WriteFile(library, data, 0o700)); err != nil {
		t.Fatal(err)
	}
	run := prepare(t, Function{Library: "libworker.so.1.0", Symbol: "library_step"})
	c, err := run.Open(s.pid)
	if os.Geteuid() != 0 {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "replaced") {
			t.Errorf("%v, want that the file was replaced", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.ask("step 7")
	wantCount(t, c, 7, nil)
}

func TestParseFunction(t *testing.T) {
	for _, text := range []string{"", ":", ":f", "lib:", "a b", "f\n"} {
		if f, err := ParseFunction(text); err == nil {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

func TestParseMaps(t *testing.T) {
	got := parseMaps(`00400000-00452000 r-xp 00000000 fe:00 123       /usr/bin/with blank
55d0c8a4e000-55d0c8a52000 r--p 00002000 fe:00 1053    /usr/bin/cat
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
7f0000002000-7f0000003000 r-xp 00000000 00:2a 77      /lib/libz.so.1 (deleted)
7fff00000000-7fff00001000 r-xp 00000000 00:00 0       [vdso]
nonsense
`)
	want := []mapping{
		{addresses: "00400000-00452000", path: "/usr/bin/with blank", inode: 123},
		{addresses: "7f0000002000-7f0000003000", path: "/lib/libz.so.1", inode: 77, deleted: true},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add("55d0c8a4e000-55d0c8a52000 r-xp 00002000 fe:00 1053    /usr/bin/cat (deleted)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMaps(text) {
			if !strings.HasPrefix(m.path, "/") || m.inode == 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestNear(t *testing.T) {
	s := &symbols{offsets: map[string]uint64{"deflate": 1, "inflate": 2, "deflateInit2_": 3, "crc32": 4}}
	if got := strings.Join(s.near("Deflate"), " "); got != "deflate deflateInit2_ inflate" {
		t.Errorf("near Deflate: %q", got)
	}
	if d := distance("kitten", "sitting"); d != 3 {
		t.Errorf("distance %d, want 3", d)
	}
}

func BenchmarkReadFunction(b *testing.B) {
	needUprobe(b)
	program, _ := buildWorker(b)
	s := startWorker(b, program)
	c := open(b, prepare(b, Function{Symbol: "worker_step"}), s.pid)
	for b.Loop() {
		if _, err := c.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is what a call costs the program when it is counted.
func BenchmarkCall(b *testing.B) {
	needUprobe(b)
	program, _ := buildWorker(b)
	for _, counted := range []string{"", "worker_step"} {
		b.Run(map[bool]string{true: "counted", false: "not"}[counted != ""], func(b *testing.B) {
			s := startWorker(b, program)
			if counted != "" {
				open(b, prepare(b, Function{Symbol: counted}), s.pid)
			}
			const calls = 100000
			for b.Loop() {
				s.ask("step 100000")
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/calls, "ns/call")
		})
	}
}

func TestNamesOfOneFunction(t *testing.T) {
	s := &symbols{offsets: map[string]uint64{
		"__clock_gettime": 1, "clock_gettime": 1,
		"strtoimax": 2, "__strtol": 2, "strtol": 2, "strtoq": 2,
		"_only": 3,
	}}
	want := map[uint64]string{1: "clock_gettime", 2: "strtol", 3: "_only"}
	if got := s.names(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
