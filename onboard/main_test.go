package onboard

import (
	"context"
	"testing"

	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/internal/testprogram"
)

func TestMain(m *testing.M) { testprogram.Main(m) }

// openSession opens a session on this machine, for as long as the test runs.
func openSession(t *testing.T, placing bench.Placing) *bench.Session {
	t.Helper()
	return testprogram.Open(t, func(ctx context.Context) (*bench.Session, error) { return bench.Open(ctx, placing) })
}
