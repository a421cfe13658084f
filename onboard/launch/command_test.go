package launch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/requires"
)

func testLauncher(t *testing.T) *Launcher {
	t.Helper()
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func shell(script string) Command { return Command{Args: []string{"/bin/sh", "-c", script}} }

func alive(pid int) bool {
	if unix.Kill(pid, 0) != nil {
		return false
	}
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(state, []byte(") Z "))
}

func TestRunFailures(t *testing.T) {
	l := testLauncher(t)
	for _, test := range []struct {
		name    string
		command Command
		want    []string
	}{
		{"no command", Command{}, []string{"no command given"}},
		{"not found", Command{Args: []string{"no-such-program-here"}}, []string{"no-such-program-here", "not found"}},
		{"exit code and last words", shell("echo one >&2; echo two >&2; exit 7"), []string{"exit status 7", "two"}},
		{"killed", shell("kill -9 $$"), []string{"signal: killed"}},
		{"runs for ever", Command{Args: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond}, []string{"still running after 50ms", "--timeout"}},
		{"forks away", shell("sleep 60 & exit 0"), []string{"1 process(es) running", "foreground"}},
		{"forks away into its own session", shell("setsid sleep 60 & exit 0"), []string{"process(es) running"}},
		{"reads the terminal", shell("exec 3</dev/tty"), []string{"/dev/tty"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			begin := time.Now()
			_, err := l.Run(t.Context(), test.command, cpuset.New(), nil)
			if err == nil {
				t.Fatal("want an error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if time.Since(begin) > 30*time.Second {
				t.Error("waited for what was left running")
			}
		})
	}
}

func TestRunRespectsTheCommand(t *testing.T) {
	l := testLauncher(t)
	var output bytes.Buffer
	dir := t.TempDir()
	command := shell("echo out $KIND; echo err >&2; pwd")
	command.Env, command.Dir, command.Output, command.Iterations = []string{"KIND=test"}, dir, &output, 2
	if _, err := l.Run(t.Context(), command, cpuset.New(), nil); err != nil {
		t.Fatal(err)
	}
	if got := output.String(); strings.Count(got, "out test\n") != 2 || strings.Count(got, "err\n") != 2 || strings.Count(got, "/"+filepath.Base(dir)+"\n") != 2 {
		t.Fatalf("output %q", got)
	}
}

func TestRunBindsToCPUs(t *testing.T) {
	l := testLauncher(t)
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	first := 0
	for !before.IsSet(first) {
		first++
	}
	var output bytes.Buffer
	command := shell("grep Cpus_allowed_list /proc/self/status")
	command.Output = &output
	if _, err := l.Run(t.Context(), command, cpuset.New(first), nil); err != nil {
		t.Fatal(err)
	}
	if fields := strings.Fields(output.String()); len(fields) != 2 || fields[1] != strconv.Itoa(first) {
		t.Fatalf("ran on %q, want %d", output.String(), first)
	}
	if _, err := l.Run(t.Context(), shell("true"), cpuset.New(1000), nil); err == nil || !strings.Contains(err.Error(), "bandmate doctor") {
		t.Fatalf("an absent CPU: %v", err)
	}
}

func TestCancelStopsAllOfACommand(t *testing.T) {
	l := testLauncher(t)
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := l.Run(ctx, shell("trap '' TERM; sleep 60 & echo $! > "+file+".new; mv "+file+".new "+file+"; wait; sleep 60"), cpuset.New(), nil)
		done <- err
	}()
	var pid int
	for pid == 0 {
		data, err := os.ReadFile(file)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if alive(pid) {
		t.Fatal("the command's child is still alive")
	}
}

// A command that is stopped ends by itself, too, when it has taken too long.
func TestTimeoutOfStoppedCommand(t *testing.T) {
	l := testLauncher(t)
	file := filepath.Join(t.TempDir(), "ended")
	command := shell("trap 'echo yes > " + file + "; exit 1' TERM; kill -STOP $$; while :; do sleep 0.01; done")
	command.Timeout = 2 * time.Second // the trap is set by then
	if _, err := l.Run(t.Context(), command, cpuset.New(), nil); !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "still running after") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("it was killed before it could end: %v", err)
	}
}

// TestEndOfOneCommandSparesTheOthers has a command end while another runs whose helper
// has lost its parent.
func TestEndOfOneCommandSparesTheOthers(t *testing.T) {
	for _, test := range []struct{ name, start string }{
		{"in the session", "sh"},
		{"in a session of its own", "setsid sh"},
		{"of which nothing is known", "env -i PATH=$PATH setsid sh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := testLauncher(t)
			file := filepath.Join(t.TempDir(), "pid")
			helps := "echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 300"
			server, err := l.Start(t.Context(), shell("("+test.start+" -c '"+helps+"' &); exec sleep 300"), cpuset.New(), nil)
			if err != nil {
				t.Fatal(err)
			}
			helper := 0
			waitFor(t, "the helper", func() bool {
				data, err := os.ReadFile(file)
				if err != nil {
					return false
				}
				helper, err = strconv.Atoi(strings.TrimSpace(string(data)))
				return err == nil && parentOf(t, helper) == os.Getpid()
			})
			if _, err := l.Run(t.Context(), shell("true"), cpuset.New(), nil); err != nil {
				t.Errorf("the command that ended: %v", err)
			}
			if !alive(helper) {
				t.Error("the helper of the other one was ended")
			}
			server.Kill()
			_, _ = server.Wait()
			if alive(helper) {
				t.Error("the helper outlived its command")
			}
		})
	}
}

// TestLeftProcessWithoutFirstThread has a command leave a process that runs on after its first
// thread has ended: it looks like a zombie, and ends only if it is killed.
func TestLeftProcessWithoutFirstThread(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		requires.Unmet(t, "needs python3, whose first thread can end")
	}
	l := testLauncher(t)
	file := filepath.Join(t.TempDir(), "pid")
	ended := make(chan error, 1)
	go func() {
		_, err := l.Run(t.Context(), shell(`python3 -c '
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
open("`+file+`", "w").write(str(os.getpid()))
ctypes.CDLL(None).pthread_exit(None)
' & until grep -q "State:.Z" /proc/$!/status; do sleep 0.01; done`), cpuset.New(), nil)
		ended <- err
	}()
	var err error
	waitFor(t, "the end of the command", func() bool {
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), "left 1 process") {
		t.Errorf("the command: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(string(data)); err != nil || unix.Kill(pid, 0) == nil {
		t.Errorf("process %s was left: %v", data, err)
	}
}

// TestProcessesOfOthersAreSpared has children that no command has started, as where a script
// starts a server and then becomes this program.
func TestProcessesOfOthersAreSpared(t *testing.T) {
	start := func(attributes *syscall.SysProcAttr) int {
		cmd := exec.Command("sleep", "300")
		cmd.SysProcAttr = attributes
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd.Process.Pid
	}
	apart := start(&syscall.SysProcAttr{Setsid: true})
	l := testLauncher(t)
	ours := start(nil)
	if _, err := l.Run(t.Context(), shell("true"), cpuset.New(), nil); err != nil {
		t.Errorf("the command: %v", err)
	}
	if !alive(apart) || !alive(ours) {
		t.Errorf("alive: %t in a session of its own, %t in that of this process", alive(apart), alive(ours))
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return stat.PPID
}

// A command that its caller ends is not blamed for it, nor is --timeout.
func TestRunEndsWithItsCaller(t *testing.T) {
	l := testLauncher(t)
	cause := errors.New("no longer wanted")
	sleeping := Command{Args: []string{"sleep", "60"}}
	limited := sleeping
	limited.Timeout = time.Hour
	soon := func(parent context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(parent, 50*time.Millisecond)
	}
	canceled := func(parent context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(parent)
		time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
		return ctx, func() { cancel(nil) }
	}
	for _, test := range []struct {
		name    string
		command Command
		ending  func(context.Context) (context.Context, context.CancelFunc)
		before  bool
		want    []error
	}{
		{"deadline", sleeping, soon, false, []error{context.DeadlineExceeded}},
		{"deadline before the timeout", limited, soon, false, []error{context.DeadlineExceeded}},
		{"canceled", sleeping, canceled, false, []error{context.Canceled, cause}},
		{"canceled before the timeout", limited, canceled, false, []error{context.Canceled, cause}},
		{"canceled before the start", limited, canceled, true, []error{context.Canceled, cause}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := test.ending(t.Context())
			defer cancel()
			if test.before {
				<-ctx.Done()
			}
			_, err := l.Run(ctx, test.command, cpuset.New(), nil)
			for _, want := range test.want {
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			if err != nil && (errors.Is(err, ErrCommand) || strings.Contains(err.Error(), "--timeout")) {
				t.Errorf("blames the command: %v", err)
			}
		})
	}
}

// The timeout is the command's, even where the caller has a later deadline.
func TestTimeoutBeforeTheDeadlineOfTheCaller(t *testing.T) {
	l := testLauncher(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := l.Run(ctx, Command{Args: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond}, cpuset.New(), nil)
	if !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "still running after 50ms") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// What ends the context once the command has ended by itself explains nothing.
func TestExplainKeepsTheOrderOfEvents(t *testing.T) {
	c := shell("exit 7")
	failure := errors.New("exit status 7")
	for _, test := range []struct {
		name       string
		err, ended error
		want       error
	}{
		{"whole", nil, nil, nil},
		{"failed", failure, nil, failure},
		{"whole as the timeout passed", nil, errTimeout, nil},
		{"ended by the timeout", failure, errTimeout, ErrCommand},
		{"ended by the caller", failure, context.Canceled, context.Canceled},
	} {
		got := c.explain(test.err, test.ended, 0, &tailBuffer{})
		if (got == nil) != (test.want == nil) || !errors.Is(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tail tailBuffer
	for i := range 2000 {
		if _, err := tail.Write([]byte("line " + strconv.Itoa(i) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := tail.suffix(); !strings.HasSuffix(got, "line 1999") || strings.Count(got, "\n") != 5 {
		t.Fatalf("suffix %q", got)
	}
}

func TestBindingFault(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{unix.EINVAL: "choose a node with memory", unix.EPERM: "CAP_SYS_NICE"} {
		err := bindingFault(1, errno)
		if !errors.Is(err, ErrPlacement) || !errors.Is(err, errno) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
