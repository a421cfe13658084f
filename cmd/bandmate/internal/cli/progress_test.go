package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A countdown says what runs, and leaves no goroutine behind when it is stopped,
// once or twice, before its time is over.
func TestCountDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		a := &App{Stderr: &b, Env: func(string) string { return "" }}
		want := func() {
			t.Helper()
			synctest.Wait()
			if got := b.String(); got != "1 of 3600: counting\n" {
				t.Errorf("%q", got)
			}
		}
		stop := a.CountDown("counting", time.Hour)
		want()
		stop()
		stop()
		a.CountDown("nothing", time.Second)()
		want()
		a.Quiet = true
		a.CountDown("quiet", time.Hour)()
		want()
	})
}
