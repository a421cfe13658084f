package bench

import (
	"context"
	"testing"

	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/pausing"
)

func TestMain(m *testing.M) { testprogram.Main(m, pausing.RunIfWatchdog, runIfCorun) }

// openSession opens a session on this machine, for as long as the test runs.
func openSession(t *testing.T) *Session {
	t.Helper()
	return testprogram.Open(t, func(ctx context.Context) (*Session, error) { return Open(ctx, Placing{}) })
}
