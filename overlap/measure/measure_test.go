package measure

import (
	"context"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/topology"
)

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	os.Exit(m.Run())
}

// quick measures as little as there can be.
func quick(t *testing.T) Options {
	t.Helper()
	requires.TwoCPUs(t)
	m, err := topology.ReadHost()
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	cores, err := Choose(m, allowed)
	if err != nil {
		t.Fatal(err)
	}
	cores.Computing = cores.Computing[:1]
	return Options{Cores: cores, Nodes: []int{m.Nodes[0].ID}, Parts: 2, MessageBytes: MinMessageBytes, Window: MinWindow, Repeats: 1}
}

func TestRun(t *testing.T) {
	o := quick(t)
	defer goleak.VerifyNone(t)
	var r Result
	var err error
	for range 5 { // between spells in which the host moves the CPUs at every sample
		if r, err = Run(t.Context(), o); !errors.Is(err, ErrUnsteady) {
			break
		}
	}
	if errors.Is(err, ErrUnsteady) {
		requires.Unmet(t, "needs a host that leaves the CPUs where they are for a tenth of a second: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 2 || r.NodesPerSocket != 1 || r.Regime == "" {
		t.Errorf("%+v", r)
	}
	if err := (overlap.Sweep{r.Points[0].Point, r.Points[1].Point}).Validate(); err != nil {
		t.Error(err)
	}
}

// However early it is stopped, it says why and leaves nothing.
func TestRunStopped(t *testing.T) {
	o := quick(t)
	o.Repeats = maxRepeats
	defer goleak.VerifyNone(t)
	for _, after := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		o.Progress = func(int, int, string) {
			if seen++; seen > after {
				cancel()
			}
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after %d samples: %v", after, err)
		}
		cancel()
	}
}

func TestConnectFails(t *testing.T) {
	o := quick(t)
	want := errors.New("no network")
	o.Connect = func(context.Context) (*os.File, *os.File, error) { return nil, nil, want }
	defer goleak.VerifyNone(t)
	if _, err := Run(t.Context(), o); !errors.Is(err, want) {
		t.Error(err)
	}
}
