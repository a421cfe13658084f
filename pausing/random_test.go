package pausing

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// sleeper is a process of which the test knows what was done to it.
type sleeper struct {
	cmd *exec.Cmd
	// stopped says that somebody else stopped it; woken that somebody continued it
	// while the group is paused.
	stopped, woken bool
}

// world is some sleepers in a group, to which anything happens in any order.
type world struct {
	t        *testing.T
	group    *Group
	paused   bool
	sleepers []*sleeper
}

// Processes are paused, continued, stopped and continued by others, and killed, in
// any order. What nobody else stopped runs whenever the group does, and what
// somebody else stopped does not.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 4).Draw(rt, "processes"))
		defer w.close()
		index := rapid.IntRange(0, len(w.sleepers)-1)
		rt.Repeat(map[string]func(*rapid.T){
			"pause":    func(*rapid.T) { w.pause() },
			"continue": func(*rapid.T) { w.resume() },
			"stop":     func(rt *rapid.T) { w.stop(w.sleepers[index.Draw(rt, "process")]) },
			"wake":     func(rt *rapid.T) { w.wake(w.sleepers[index.Draw(rt, "process")]) },
			"kill":     func(rt *rapid.T) { w.kill(index.Draw(rt, "process")) },
			"":         func(*rapid.T) { w.check() },
		})
	})
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t}
	var pids []int
	for range n {
		cmd := exec.Command("sleep", "300")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.sleepers = append(w.sleepers, &sleeper{cmd: cmd})
		pids = append(pids, cmd.Process.Pid)
	}
	g, err := Processes(pids...)
	if err != nil {
		t.Fatal(err)
	}
	g.SetLongest(patience)
	w.group = g
	return w
}

func (w *world) close() {
	if err := w.group.Close(); err != nil {
		w.t.Error(err)
	}
	w.paused = false
	w.forgetWakes()
	w.check()
	for _, s := range w.sleepers {
		w.end(s)
	}
}

func (w *world) pause() {
	if w.paused {
		return
	}
	err := w.group.Pause()
	if w.living() == 0 {
		if !errors.Is(err, ErrEnded) {
			w.t.Errorf("nothing is left: %v, want %v", err, ErrEnded)
		}
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.paused = true
}

func (w *world) resume() {
	if err := w.group.Continue(); err != nil {
		w.t.Fatal(err)
	}
	w.paused = false
	w.forgetWakes()
}

func (w *world) forgetWakes() {
	for _, s := range w.sleepers {
		s.woken = false
	}
}

func (w *world) living() int {
	n := 0
	for _, s := range w.sleepers {
		if s.cmd.ProcessState == nil {
			n++
		}
	}
	return n
}

func (w *world) stop(s *sleeper) {
	// Stopped again after it was continued within a pause, a process cannot be
	// told from one that is paused.
	if s.cmd.ProcessState != nil || s.woken {
		return
	}
	if err := unix.Kill(s.cmd.Process.Pid, unix.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
	s.stopped = true
	waitFor(w.t, "the stop", func() bool { return isStopped(w.t, s.cmd.Process.Pid) })
}

func (w *world) wake(s *sleeper) {
	if s.cmd.ProcessState != nil {
		return
	}
	if err := unix.Kill(s.cmd.Process.Pid, unix.SIGCONT); err != nil {
		w.t.Fatal(err)
	}
	s.stopped = false
	s.woken = w.paused
}

func (w *world) kill(i int) { w.end(w.sleepers[i]) }

func (w *world) end(s *sleeper) {
	if s.cmd.ProcessState == nil {
		_ = errors.Join(s.cmd.Process.Kill(), s.cmd.Wait())
	}
}

func (w *world) check() {
	for i, s := range w.sleepers {
		if s.cmd.ProcessState != nil {
			continue
		}
		want := s.stopped || w.paused && !s.woken
		letters := states(w.t, s.cmd.Process.Pid)
		if is := strings.Contains(letters, "T"); is != want {
			w.t.Fatalf("process %d of %d is %q (stopped by others: %v, paused: %v, continued meanwhile: %v)",
				i+1, len(w.sleepers), letters, s.stopped, w.paused, s.woken)
		}
	}
}
