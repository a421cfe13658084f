// Package scripttest runs scripts of the command line as a user would, and checks output,
// standard error and exit codes. Scripts are files testdata/script/*.txtar of the package that
// is tested, in the language of testscript.
package scripttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/root"
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

// Main is the TestMain of a package whose tests run bandmate, and these other programs, as
// commands.
func Main(m *testing.M, programs map[string]func()) {
	interferer.RunIfChild()
	launch.RunIfGuard()
	pausing.RunIfWatchdog()
	namespaces.RunIfChild()
	// The race detector waits a second at every exit for reports of threads that
	// still run. The processes of these tests are many and short.
	if err := os.Setenv(raceVariable, "atexit_sleep_ms=0 "+os.Getenv(raceVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	commands := map[string]func(){"bandmate": root.Main}
	maps.Copy(commands, programs)
	testscript.Main(m, commands)
}

// Params are how testscript runs the scripts. A caller may add to them.
func Params() testscript.Params {
	return testscript.Params{
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
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"alone": alone,
		},
	}
}

// condition reports whether what a script says in brackets holds.
func condition(name string) (bool, error) {
	switch name {
	case "cpus2":
		return runtime.NumCPU() >= 2 || os.Getenv(requires.Everything) != "", nil
	case "root":
		return os.Getuid() == 0, nil
	case "caches": // some hypervisors tell the kernel of none
		_, err := os.Stat("/sys/devices/system/cpu/cpu0/cache/index0")
		return err == nil, nil
	case "counters":
		return memoryControllersWork()
	case "namespaces":
		return NetworkNamespacesWork()
	case "mounts":
		work := exec.Command("unshare", "--mount", "true").Run() == nil
		return work || os.Getenv(requires.Everything) != "", nil
	}
	return false, nil
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

// NetworkNamespacesWork reports whether this user may have network namespaces.
func NetworkNamespacesWork() (bool, error) {
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

// alone checks that soon no process that the script started is left, nor what those
// started.
func alone(ts *testscript.TestScript, _ bool, _ []string) {
	if left := processtest.EventuallyGone(func() []int { return processtest.ProcessesWith("WORK=" + ts.Getenv("WORK")) }); len(left) > 0 {
		ts.Fatalf("still running: %v", left)
	}
}
