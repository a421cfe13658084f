package onboard

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/pausing"
)

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	RunIfGuard()
	pausing.RunIfWatchdog()
	runIfCorun()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
