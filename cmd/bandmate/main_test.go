package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/network/namespaces"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/topology"
)

// raceVariable holds the options of the race detector. Programs that were built
// without it ignore them.
const raceVariable = "GORACE"

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	launch.RunIfGuard()
	pausing.RunIfWatchdog()
	namespaces.RunIfChild()
	// The race detector waits a second at every exit for reports of threads that
	// still run. The processes of these tests are many and short.
	if err := os.Setenv(raceVariable, "atexit_sleep_ms=0 "+os.Getenv(raceVariable)); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"bandmate": main, "closed-loop": closedLoop})
}

// TestScripts runs the command line as a user does: output, standard error,
// exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("BANDMATE_STORE", filepath.Join(env.WorkDir, "store"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("PORT", freePort())
			cpus, err := topology.AllowedCPUs()
			if err != nil {
				return err
			}
			env.Setenv("CPU", strconv.Itoa(cpus.List()[0]))
			env.Setenv(raceVariable, os.Getenv(raceVariable))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "cpus2":
				return runtime.NumCPU() >= 2 || os.Getenv(requires.Everything) != "", nil
			case "root":
				return os.Getuid() == 0, nil
			case "caches": // some hypervisors tell the kernel of none
				_, err := os.Stat("/sys/devices/system/cpu/cpu0/cache/index0")
				return err == nil, nil
			case "counters":
				return memoryControllersWork()
			case "cgroups":
				return cgroupsWork()
			case "namespaces":
				return networkNamespacesWork()
			case "time":
				deadline, limited := t.Deadline()
				return !limited || time.Until(deadline) > measuringTime || os.Getenv(requires.Everything) != "", nil
			case "mounts":
				work := exec.Command("unshare", "--mount", "true").Run() == nil
				return work || os.Getenv(requires.Everything) != "", nil
			}
			return false, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"exclusive": exclusive,
			"here":      here,
			"alone":     alone,
			"cgroup":    cgroup,
		},
	})
}

// freePort returns the number of a port that nobody listens on; empty without the
// loopback.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ""
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// memoryControllersWork reports whether any counters of memory controllers can
// be read here.
func memoryControllersWork() (bool, error) {
	host, err := pmu.OpenHost()
	if err != nil {
		return false, err
	}
	_, err = profiler.Select(context.Background(), "", pmu.MemoryControllers(host)...)
	return err == nil, host.Close()
}

// networkNamespacesWork reports whether this user may have network namespaces.
func networkNamespacesWork() (bool, error) {
	cluster, err := namespaces.Open(context.Background(), namespaces.Options{Nodes: 2, Rate: namespaces.MinRate})
	if errors.Is(err, namespaces.ErrNotPermitted) {
		return os.Getenv(requires.Everything) != "", nil
	}
	if err != nil {
		return false, err
	}
	return true, cluster.Close()
}

// exits runs a command and checks its exit code: exits CODE CMD ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD ARGS...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// measuringTime is what a script that measures takes at most, on a busy machine.
const measuringTime = 150 * time.Second

// measuring is held by the script that measures: two at a time would disturb each other,
// and each would take the longer for it.
var measuring sync.Mutex

// exclusive lets no other script measure until this one ends.
func exclusive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: exclusive")
	}
	measuring.Lock()
	ts.Defer(measuring.Unlock)
}

// measuredHere is the profile of this machine that the first script measured. The script
// that uses it holds measuring.
var measuredHere []byte

// here puts the profile of this machine into the store, measured once for all scripts.
func here(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: here")
	}
	file := filepath.Join(ts.Getenv("BANDMATE_STORE"), "machines", "here.yaml")
	if measuredHere == nil {
		ts.Check(ts.Exec("bandmate", "machine", "--quick", "--name", "here", "-q"))
		measuredHere = []byte(ts.ReadFile(file))
		return
	}
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, measuredHere, 0o644))
}

// alone checks that soon no process that the script started is left, nor what those
// started.
func alone(ts *testscript.TestScript, _ bool, _ []string) {
	if left := eventuallyGone(func() []int { return processesWith("WORK=" + ts.Getenv("WORK")) }); len(left) > 0 {
		ts.Fatalf("still running: %v", left)
	}
}
