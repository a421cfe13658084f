package observing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/ticks"
)

// canceling is the work of a world that cancels a context once its steps have been
// counted for a tenth of a second.
type canceling struct {
	*world
	cancel func()
	begin  time.Duration
}

func (*canceling) Name() string { return "simulated" }

func (c *canceling) Prepare() (*ticks.Run, error) {
	return &ticks.Run{
		Open:  func(int) (ticks.Counter, error) { return c, nil },
		Close: func() error { return nil },
	}, nil
}

func (c *canceling) Read() (float64, error) {
	n, err := c.world.Read()
	if c.begin == 0 {
		c.begin = c.now
	}
	if c.now-c.begin >= 100*time.Millisecond {
		c.cancel()
	}
	return n, err
}

// TestOpenCanceled ends the context when a source has just been tried.
func TestOpenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := newWorld(t)
	if c, err := Open(ctx, w, []ticks.Source{&canceling{world: w, cancel: cancel}}, []int{1}); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, %v; want the end of the context", c, err)
	}
}

// waiting is a source that opens when it is told to.
type waiting struct {
	canceling

	asked, answer, closed chan struct{}
}

func (w *waiting) Prepare() (*ticks.Run, error) {
	return &ticks.Run{
		Open: func(int) (ticks.Counter, error) {
			close(w.asked)
			<-w.answer
			return w, nil
		},
		Close: func() error { close(w.closed); return nil },
	}, nil
}

// A server that does not answer delays no end.
func TestOpenCanceledWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiting{canceling: canceling{world: newWorld(t)}, asked: make(chan struct{}), answer: make(chan struct{}), closed: make(chan struct{})}
	ended := make(chan error)
	go func() {
		_, err := Open(ctx, w, []ticks.Source{w}, []int{1})
		ended <- err
	}()
	<-w.asked
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
	case <-time.After(10 * time.Second):
		t.Error("waits for the source")
		close(w.answer)
		<-ended
		return
	}
	close(w.answer)
	<-w.closed
}

// What ends while its count is looked for has ended, and is not without a count.
func TestDiscoverEnded(t *testing.T) {
	var pids []int
	for _, seconds := range []string{"0.1", "0.3"} {
		cmd := exec.Command("sleep", seconds)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Wait() }()
		pids = append(pids, cmd.Process.Pid)
	}
	if _, err := discover(t.Context(), pids, ticks.ErrUnavailable); !errors.Is(err, ticks.ErrEnded) || errors.Is(err, ErrNoTicks) {
		t.Errorf("%v, want %v", err, ticks.ErrEnded)
	}
}

// A program of another user is not one that neither reads nor writes.
func TestDiscoverAnotherUser(t *testing.T) {
	const (
		nobody   = 65534
		variable = "BANDMATE_TEST_OTHER"
	)
	if text := os.Getenv(variable); text != "" {
		other, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := discover(t.Context(), []int{other}, ticks.ErrUnavailable); !errors.Is(err, ErrNoTicks) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "as the user of the program") {
			t.Errorf("%v, want that it belongs to another user", err)
		}
		return
	}
	if os.Getuid() != 0 {
		requires.Unmet(t, "needs root, to be another user")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestDiscoverAnotherUser$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
