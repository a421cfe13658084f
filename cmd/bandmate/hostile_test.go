package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// rawControl are the characters that would act on a terminal.
const rawControl = "\x1b\x07\x08\u009b\u202e\u2066\u200b"

// One point is enough to predict, with a warning.
func TestSinglePointCurve(t *testing.T) {
	store := storeOf(t, "a", "b")
	p := processtest.Bandmate(t, "predict", "a", "b", "--store", store)
	p.WantExit(0, "warning: ")
	if !strings.Contains(p.Stdout.String(), "a beside b: 1.") {
		t.Errorf("no prediction: %s", &p.Stdout)
	}
}

func TestEmptyStore(t *testing.T) {
	for name, store := range map[string]string{
		"empty folder":    t.TempDir(),
		"missing folder":  filepath.Join(t.TempDir(), "missing"),
		"empty subfolder": filepath.Dir(filepath.Dir(writeIn(t, "applications/.keep", ""))),
	} {
		t.Run(name, func(t *testing.T) {
			processtest.Bandmate(t, "profiles", "list", "--store", store).WantExit(0)
			processtest.Bandmate(t, "matrix", "--store", store).WantExit(1, "no application profiles", "bandmate onboard")
			processtest.Bandmate(t, "predict", "a", "b", "--store", store).WantExit(3, `"a"`, "the store "+store, "bandmate onboard")
		})
	}
}

// writeIn makes a file in a new folder and returns its path.
func writeIn(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	processtest.WriteFile(t, path, text)
	return path
}

// Large files are refused without being read whole.
func TestHugeFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	huge := writeIn(t, "huge.yaml", profileOf("huge"))
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Fatal(err)
	}
	store := storeOf(t, "a")
	if err := os.Link(huge, filepath.Join(store, "applications", "huge@here.yaml")); err != nil {
		t.Fatal(err)
	}
	points := strings.Repeat("    - {level: 1, interfererBytesPerSecond: 40.0e9, normalizedPerformance: 0.8, repeats: 3}\n", 100_000)
	long := writeIn(t, "long.yaml", profileOf("long")+points)
	short := strings.Repeat("    - {level: 1, interfererBytesPerSecond: 40.0e9, normalizedPerformance: 0.8, repeats: 3}\n", 10_000)
	many := writeIn(t, "many.yaml", profileOf("many")+short)

	small := func(args ...string) *processtest.Program {
		// The address space of the Go runtime alone takes more than the huge file
		// would: what is touched is what counts. The race detector takes up to 300 MB.
		p := processtest.Bandmate(t, args...)
		if usage, ok := p.Cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > 512<<10 {
			t.Errorf("%v took %d KiB of memory", args, usage.Maxrss)
		}
		return p
	}
	small("profiles", "import", huge, "--store", store).WantExit(1, huge, "more than")
	small("profiles", "import", long, "--store", store).WantExit(1, long, "want at most")
	small("profiles", "import", many, "--store", store).WantExit(1, many, "at most 128")
	small("capability", "barrier", "--machine", huge, "--threads", "4").WantExit(1, huge, "larger than")
	small("overlap", "bandwidth", "--parameters", huge, "--cores", "4").WantExit(1, huge, "larger than")
	p := small("profiles", "list", "--store", store)
	p.WantExit(0, "huge@here.yaml", "want at most")
	if !strings.Contains(p.Stdout.String(), "a ") {
		t.Errorf("the sound profile is hidden: %s", &p.Stdout)
	}
}

// Whatever is in place of a file is named and hides no other.
func TestNotAFile(t *testing.T) {
	store := storeOf(t, "a", "b")
	dir := filepath.Join(store, "applications")
	if err := os.Mkdir(filepath.Join(dir, "folder@here.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe@here.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "device@here.yaml")); err != nil {
		t.Fatal(err)
	}
	// As if it vanished between the listing and the reading.
	if err := os.Symlink("gone", filepath.Join(dir, "vanished@here.yaml")); err != nil {
		t.Fatal(err)
	}
	p := processtest.Bandmate(t, "profiles", "list", "--store", store)
	p.WantExit(0, "folder@here.yaml", "pipe@here.yaml", "device@here.yaml")
	if strings.Contains(p.Stderr.String(), "vanished") {
		t.Errorf("a deleted profile is an error: %s", &p.Stderr)
	}
	processtest.Bandmate(t, "predict", "a", "b", "--store", store).WantExit(0)
	processtest.Bandmate(t, "predict", "a", "folder", "--store", store).WantExit(1, "folder@here.yaml")
	processtest.Bandmate(t, "predict", "a", "vanished", "--store", store).WantExit(3, "vanished")
	processtest.Bandmate(t, "profiles", "import", dir, "--store", store).WantExit(1, dir)
}

// Profiles may come and go while others read.
func TestProfilesComeAndGo(t *testing.T) {
	store := storeOf(t, "a", "b")
	file := filepath.Join(store, "applications", "guest@here.yaml")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(file+".new", []byte(profileOf("guest")), 0o644)
			_ = os.Rename(file+".new", file)
			time.Sleep(100 * time.Microsecond)
			_ = os.Remove(file)
		}
	}()
	for range 5 {
		p := processtest.Bandmate(t, "matrix", "--store", store)
		p.WantExit(0)
		if strings.Contains(p.Stderr.String(), "guest") {
			t.Errorf("a profile that went is an error: %s", &p.Stderr)
		}
	}
	close(stop)
	<-stopped
}

// What profiles and file names hold cannot act on the terminal.
func TestNothingActsOnTheTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	const evil = `\e[31m\e]0;owned\a\x9b2J\u202E<b>&\u200B`
	text := strings.NewReplacer(
		"machine: {name: here}", `machine: {name: here, cpuModel: "`+evil+`"}`,
		"measurement: {}", `measurement: {bandmateVersion: "`+evil+`", regime: {name: "`+evil+`", roundTripNanoseconds: 80}}`,
		"  curves:", `  command: ["`+evil+`"]`+"\n"+`  warnings: ["`+evil+`"]`+"\n  curves:",
	).Replace(profileOf("evil"))
	store := storeOf(t, "a")
	imported := writeIn(t, "evil.yaml", text)
	processtest.Bandmate(t, "profiles", "import", imported, "--store", store).WantExit(1, imported, "spec.machine.cpuModel", "want printable text")
	processtest.WriteFile(t, filepath.Join(store, "applications", "evil@here.yaml"), text)
	dir := filepath.Join(store, "applications")
	for _, name := range []string{"\x1b[31mred@here.yaml", "\u202ereversed@here.yaml", "line\nbreak@here.yaml"} {
		processtest.WriteFile(t, filepath.Join(dir, name), "not a profile")
	}
	odd := writeIn(t, "\x1b[2J.yaml", "kind: \"\\e[31m\"\n")
	for _, args := range [][]string{
		{"profiles", "list"},
		{"profiles", "show", "evil"},
		{"matrix"},
		{"predict", "evil", "a", "--explain"},
		{"profiles", "show", "\x1b[31mred"},
		{"predict", "a", "\x1b[5mx\u202e"},
		{"profiles", "delete", "\x1b[5m"},
		{"profiles", "import", odd},
		{"profiles", "import", odd + "\x07"},
		{"--\x1b[31m"},
		{"\x1b[31m"},
		{"onboard", "\x1b[31m", "--", "true"},
		{"measure", "--source", "\x1b[31m", "--", "true"},
		{"interfere", "--pattern", "\x1b[31m"},
		{"matrix", "-o", "\x1b[31m"},
		{"predict", "a", "a", "--method", "\x1b[31m"},
		{"onboard", "x", "--machine", "here", "--source", "probe", "--whole-runs", "--", "./\x1b[31mcommand"},
	} {
		p := processtest.Prepare(t, "bandmate", append(args, "--store", store)...)
		if slices.Contains(args, "--") {
			p = processtest.Prepare(t, "bandmate", append([]string{"--store", store}, args...)...)
		}
		p.Start().Wait()
		for stream, shown := range map[string]string{"standard output": p.Stdout.String(), "standard error": p.Stderr.String()} {
			if strings.ContainsAny(shown, rawControl) {
				t.Errorf("%q: %s: %q", args, stream, shown)
			}
		}
		if p.Stdout.String()+p.Stderr.String() == "" {
			t.Errorf("%q says nothing", args)
		}
	}
}
