package main

import (
	"testing"
	"time"
)

// A countdown says what runs, and leaves no goroutine behind when it is stopped,
// once or twice, before its time is over.
func TestCountDown(t *testing.T) {
	var b lockedBuffer
	a := appWith(nil)
	a.stderr = &b
	stop := a.countDown("counting", time.Hour)
	eventually(t, "a line of progress", func() bool { return b.String() == "1 of 3600: counting\n" })
	stop()
	stop()
	a.countDown("nothing", time.Second)()
	if got := b.String(); got != "1 of 3600: counting\n" {
		t.Errorf("%q", got)
	}
	a.quiet = true
	a.countDown("quiet", time.Hour)()
	if got := b.String(); got != "1 of 3600: counting\n" {
		t.Errorf("quiet: %q", got)
	}
}
