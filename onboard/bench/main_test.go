package bench

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/pausing"
)

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	launch.RunIfGuard()
	pausing.RunIfWatchdog()
	runIfCorun()
	testprogram.RunIfCounting()
	// The race detector waits a second at every exit, which the processes that the
	// tests start need not.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// openSession opens a session on this machine, for as long as the test runs.
func openSession(t *testing.T) *Session {
	t.Helper()
	requires.TwoCPUs(t)
	// The context of a test ends before its cleanup.
	session, err := Open(context.WithoutCancel(t.Context()), Placing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}
