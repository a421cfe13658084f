package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/requires"
)

// With one CPU nothing can run beside anything: exit code 4, and what helps.
func TestOneCPU(t *testing.T) {
	store := processtest.StoreWith(t)
	for _, args := range [][]string{
		onboardArgs(store, "--", "sleep", "1"),
		{"machine", "--store", store},
		{"demo"},
		{"measure", "--source", "probe", "--store", store, "--machine", "here", "--", "sleep", "1"},
	} {
		p := onOneCPU(processtest.Prepare(t, "bandmate", args...))
		p.WantExit(4, "only one CPU", "second CPU", "taskset")
		p.WantNobody()
	}
	p := onOneCPU(processtest.Prepare(t, "bandmate", "interfere", "--duration", "1s"))
	p.WantExit(4, "all that this process may use", "allow all CPUs")
	wantWholeStore(t, store)
}

// CPUs that are not there, or not for this process.
func TestCPUsOutOfReach(t *testing.T) {
	requires.TwoCPUs(t)
	store := processtest.StoreWith(t)
	processtest.Bandmate(t, onboardArgs(store, "--cpus", "900", "--", "sleep", "1")...).WantExit(4, "900", "offline or not there", "choose from")
	processtest.Bandmate(t, "machine", "--store", store, "--interferer-cpus", "900").WantExit(4, "900", "choose from")
	processtest.Bandmate(t, "interfere", "--duration", "1s", "--cpus", "900").WantExit(4, "900", "choose")
	wantWholeStore(t, store)
}

// Without the right to real-time priority the interferer says so and goes on.
func TestRealTimeIsRefused(t *testing.T) {
	requires.TwoCPUs(t)
	_, program := openFolder(t)
	p := unprivileged(processtest.Prepare(t, "sh", "-c", `ulimit -r 0; exec "$@"`, "sh",
		program, "interfere", "--real-time", "--bandwidth", "1GB/s", "--duration", "100ms", "--quiet")).Start()
	p.WantExit(0, "warning: no real-time priority", "CAP_SYS_NICE")
	if !strings.Contains(p.Stdout.String(), "asked for 1.00 GB/s") {
		t.Errorf("no result: %q", &p.Stdout)
	}
	p.WantNobody()
}

// A store that cannot be written to is told before hours of measuring, with
// its name and what helps.
func TestReadOnlyStore(t *testing.T) {
	requires.TwoCPUs(t)
	folder, program := openFolder(t)
	store := filepath.Join(folder, "store")
	profile := processtest.MachineProfile
	processtest.WriteFile(t, filepath.Join(folder, "machine.yaml"), strings.Replace(profile, "name: here", "name: other", 1))
	processtest.WriteFile(t, filepath.Join(store, "machines", "here.yaml"), profile)
	for _, dir := range []string{store, filepath.Join(store, "machines")} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	}
	for _, args := range [][]string{
		{"profiles", "import", filepath.Join(folder, "machine.yaml"), "--store", store},
		{"machine", "--store", store},
		{"machine", "--store", filepath.Join(store, "new", "one")},
		onboardArgs(store, "--", "sleep", "10"),
	} {
		p := unprivileged(processtest.Prepare(t, program, args...)).Start()
		p.WantExit(1, "permission denied", store, "--store")
		p.WantNobody()
	}
	if files := processtest.FilesIn(t, store); files != "machines/here.yaml" {
		t.Errorf("the store holds %s", files)
	}
}

// A program that may not be executed is no matter of the machine: exit code 1.
func TestForbiddenProgram(t *testing.T) {
	requires.TwoCPUs(t)
	folder, program := openFolder(t)
	file := filepath.Join(folder, "secret")
	processtest.WriteFile(t, file, "#!/bin/sh\n")
	p := unprivileged(processtest.Prepare(t, program, onboardArgs(filepath.Join(folder, "store"), "--", file)...)).Start()
	p.WantExit(1, "permission denied", file)
	p.WantNobody()
}

// On a full disk an import stores nothing, says what helps, and leaves what
// was there.
func TestImportOnFullDisk(t *testing.T) {
	for _, disk := range disks() {
		t.Run(disk.name, func(t *testing.T) {
			store, limited := disk.make(t)
			profile := processtest.MachineProfile
			processtest.WriteFile(t, filepath.Join(store, "machines", "here.yaml"), profile)
			file := filepath.Join(t.TempDir(), "new.yaml")
			processtest.WriteFile(t, file, strings.Replace(profile, "cpus: 2", "cpus: 3", 1))
			p := limited(0, "profiles", "import", file, "--store", store)
			p.WantExit(1, "make room", "here")
			if got := processtest.ReadFile(t, filepath.Join(store, "machines", "here.yaml")); got != profile {
				t.Errorf("the old profile was changed: %s", got)
			}
			if files := processtest.FilesIn(t, store); files != "machines/here.yaml" {
				t.Errorf("the store holds %s", files)
			}
		})
	}
}

// When the disk fills up, an experiment stops and keeps the whole samples.
func TestExperimentOnFullDisk(t *testing.T) {
	requires.TwoCPUs(t)
	for _, disk := range disks() {
		t.Run(disk.name, func(t *testing.T) {
			store, limited := disk.make(t)
			processtest.WriteFile(t, filepath.Join(store, "machines", "here.yaml"), processtest.MachineProfile)
			args := onboardArgs(store, "--quiet=false", "--resume", "--", "sleep", "0.03")
			journal := filepath.Join(store, "interrupted", "app.jsonl")
			before := foreignJournal(t, store, args, journal)
			p := limited(len(before), args...)
			p.WantExit(1, "sample journal", journal, "make room", "samples so far are kept", "--resume")
			p.WantNobody()
			after := processtest.ReadFile(t, journal)
			if !strings.HasPrefix(after, before) || !strings.HasSuffix(after, "}\n") {
				t.Errorf("the journal was damaged: %s", after)
			}
			if files := processtest.FilesIn(t, store); files != "interrupted/app.jsonl machines/here.yaml" {
				t.Errorf("the store holds %s", files)
			}
		})
	}
}

// When there is no room for the profile at the end, nothing has to be measured
// again.
func TestProfileOnFullDisk(t *testing.T) {
	requires.TwoCPUs(t)
	store := fullDisk(t, "256k")
	processtest.WriteFile(t, filepath.Join(store, "machines", "here.yaml"), processtest.MachineProfile)
	args := onboardArgs(store, "--resume", "--", "sleep", "0.03")
	foreignJournal(t, store, args, filepath.Join(store, "interrupted", "app.jsonl"))
	completeJournal(t, store)
	zero := fill(t, store)
	processtest.Bandmate(t, args...).WantExit(1, "storing the profile", "make room", "samples so far are kept", "--resume")
	if err := os.Remove(zero); err != nil {
		t.Fatal(err)
	}
	processtest.Bandmate(t, args...).WantExit(0)
	wantResumed(t, store)
}

// fill takes all the room of a file system and returns the file that does.
func fill(t *testing.T, folder string) string {
	t.Helper()
	zero, err := os.Create(filepath.Join(folder, "zero"))
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	for err == nil {
		_, err = zero.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return zero.Name()
}

// foreignJournal makes a journal for an experiment, with samples of a regime
// that never holds: it is long, and nothing in it is of use.
func foreignJournal(t *testing.T, store string, args []string, path string) string {
	t.Helper()
	fresh := slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "--resume" })
	p := processtest.Prepare(t, "bandmate", fresh...).Start()
	processtest.Eventually(t, "a sample", func() bool { return len(journalOf(store)) > 1 })
	p.Signal(syscall.SIGINT)
	p.Wait()
	text := journalOf(store)[0]
	// It ends near the end of a page, so that a full disk has no room for more.
	for len(text) < 20<<10 || len(text)%4096 < 3900 {
		text += `{"target":"app","regime":"elsewhere","roundTripNanoseconds":100,"spell":1,"start":"2026-01-01T00:00:00Z","seconds":0.2}` + "\n"
	}
	processtest.WriteFile(t, path, text)
	return text
}

// disk is a way to have no room: make returns a folder, and a function that
// runs the command line so that no file there may grow by more than a sample
// or two beyond a size.
type disk struct {
	name string
	make func(t *testing.T) (string, func(size int, args ...string) *processtest.Program)
}

func disks() []disk {
	return []disk{
		{"limit of the file size", func(t *testing.T) (string, func(int, ...string) *processtest.Program) {
			return t.TempDir(), func(size int, args ...string) *processtest.Program {
				// POSIX: in blocks of 512 bytes.
				p := processtest.Prepare(t, "sh", append([]string{"-c", `ulimit -f ` + strconv.Itoa(size/512+1) + `; exec "$@"`, "sh", "bandmate"}, args...)...).Start()
				p.Wait()
				return p
			}
		}},
		{"full file system", func(t *testing.T) (string, func(int, ...string) *processtest.Program) {
			folder := fullDisk(t, "256k")
			return folder, func(_ int, args ...string) *processtest.Program {
				zero := fill(t, folder)
				p := processtest.Bandmate(t, args...)
				if err := os.Remove(zero); err != nil {
					t.Error(err)
				}
				return p
			}
		}},
	}
}

// A CPU that is taken from the interferer ends the experiment at once: the
// application is not waited for. (Taking it offline moves its threads just so.)
func TestLostCPU(t *testing.T) {
	requires.TwoCPUs(t)
	store, a := processtest.StoreWith(t), newApplication(t)
	p := processtest.Prepare(t, "bandmate", onboardArgs(store, "--cpus", "0", "--interferer-cpus", "1", "--", a.path)...).Start()
	a.running()
	a.stay()
	moveToCPU(t, interfererOf(t), 0)
	p.WantExit(4, "moved from CPU 1 to 0", "offline", "--interferer-cpus")
	p.WantNobody()
	wantWholeStore(t, store)
}

func TestInterfereLosesCPU(t *testing.T) {
	requires.TwoCPUs(t)
	p := processtest.Prepare(t, "bandmate", "interfere", "--cpus", "1", "--duration", "10m", "--window", "20ms").Start()
	processtest.Eventually(t, "a window", func() bool { return strings.Contains(p.Stderr.String(), "B/s") })
	moveToCPU(t, interfererOf(t), 0)
	p.WantExit(4, "moved from CPU 1 to 0", "--cpus")
	p.WantNobody()
}

// moveToCPU has every thread of a process run on one CPU.
func moveToCPU(t *testing.T, pid, cpu int) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	var set unix.CPUSet
	set.Set(cpu)
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH {
			t.Fatal(err)
		}
	}
}

// The kernel kills the interferer first when memory runs out.
func TestInterfererIsKilled(t *testing.T) {
	requires.TwoCPUs(t)
	store, a := processtest.StoreWith(t), newApplication(t)
	p := processtest.Prepare(t, "bandmate", onboardArgs(store, "--", a.path)...).Start()
	a.running()
	a.stay()
	begin := time.Now()
	if err := syscall.Kill(interfererOf(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.WantExit(1, "signal: killed", "smaller buffers")
	if time.Since(begin) > processtest.Patience/2 {
		t.Error("the application was waited for")
	}
	p.WantNobody()
	wantWholeStore(t, store)
}
