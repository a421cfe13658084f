package observing

import (
	"context"
	"errors"
	"testing"
	"time"

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
