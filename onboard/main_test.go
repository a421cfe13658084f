package onboard

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/pausing"
)

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	launch.RunIfGuard()
	pausing.RunIfWatchdog()
	runIfCorun()
	runIfCounting()
	// The race detector waits a second at every exit, which the processes that the
	// tests start need not.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
