package ticks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/reexec"
	"bandmate.dev/bandmate/ticks/progress"
)

// Roles of this program when a test starts it again.
const (
	// addRole counts 1 to the number of its argument, says so, and waits.
	addRole reexec.Role = "ticksadd"
	// pageRole prepares a page, says where, and waits.
	pageRole reexec.Role = "tickspage"
)

func TestMain(m *testing.M) {
	addRole.Run(func(argument string) int {
		var n uint64
		if _, err := fmt.Sscan(argument, &n); err != nil {
			return 1
		}
		for range n {
			progress.Add(1)
		}
		return sayAndWait("done")
	})
	pageRole.Run(func(dir string) int {
		run, err := Page{Dir: dir}.Prepare()
		if err != nil {
			return 1
		}
		return sayAndWait(strings.TrimPrefix(run.Env[0], progress.Variable+"="))
	})
	os.Exit(m.Run())
}

// sayAndWait waits for the end of standard input.
func sayAndWait(what string) int {
	fmt.Fprintln(os.Stdout, what)
	var none string
	_, _ = fmt.Scanln(&none)
	return 0
}

// started is a program that a test started. It waits until finish.
type started struct {
	pid    int
	said   string
	finish func()
	kill   func()
	// ask writes a line to the program and returns the one it answers.
	ask func(line string) string
}

// startRole starts this program in a role and waits until it has said something.
func startRole(t testing.TB, role reexec.Role, argument string, env ...string) started {
	t.Helper()
	cmd := role.Command(argument)
	cmd.Env = append(cmd.Env, env...)
	return start(t, cmd)
}

func start(t testing.TB, cmd *exec.Cmd) started {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := started{pid: cmd.Process.Pid}
	ended := false
	end := func(first func() error) {
		if !ended {
			ended = true
			_ = first()
			_ = cmd.Wait() // a killed program fails
		}
	}
	s.finish = func() { end(in.Close) }
	s.kill = func() { end(cmd.Process.Kill) }
	t.Cleanup(s.kill)
	lines := bufio.NewReader(out)
	listen := func() string {
		said := make(chan string, 1)
		go func() {
			line, _ := lines.ReadString('\n')
			said <- strings.TrimSuffix(line, "\n")
		}()
		select {
		case line := <-said:
			return line
		case <-time.After(20 * time.Second):
			t.Fatal("the program says nothing")
			return ""
		}
	}
	s.ask = func(line string) string {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		return listen()
	}
	s.said = listen()
	return s
}

func shell(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }
