package onboard

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/requires"
)

func TestSumCounters(t *testing.T) {
	all := procfs.NetDev{
		"lo":   {TxBytes: 900, RxBytes: 900},
		"eth0": {TxBytes: 6728900, RxBytes: 1416872240},
		"eth1": {TxBytes: 100, RxBytes: 60},
	}
	if sum, err := sumCounters(all, nil); err != nil || sum != (netCounters{6729000, 1416872300}) {
		t.Errorf("all but the loopback: %+v, %v", sum, err)
	}
	if sum, err := sumCounters(all, []string{"lo"}); err != nil || sum.sent != 900 {
		t.Errorf("the loopback by name: %+v, %v", sum, err)
	}
	if _, err := sumCounters(all, []string{"eth7"}); err == nil || !strings.Contains(err.Error(), "eth7") {
		t.Errorf("an interface that is not there: %v", err)
	}
}

// The kernel's own text is read, whatever interfaces there are.
func TestReadCounters(t *testing.T) {
	if _, err := os.Stat("/proc/self/net/dev"); err != nil {
		requires.Unmet(t, "needs /proc/self/net/dev")
	}
	if _, err := readCounters(nil); err != nil {
		t.Error(err)
	}
}

func TestSummarizeRuns(t *testing.T) {
	run := func(sent, received, backgroundSent float64) exchangedRun {
		return exchangedRun{seconds: 2, bytes: netCounters{sent, received}, background: netCounters{sent: backgroundSent}}
	}
	e, err := summarizeRuns([]exchangedRun{run(200e6, 2e6, 0), run(220e6, 2e6, 1000), run(204e6, 2e6, 0)})
	if err != nil {
		t.Fatal(err)
	}
	c := e.Communication(v1alpha1.Timing{Seconds: 2})
	if c.Source != v1alpha1.CommunicationMeasured || c.Repeats != 3 || c.RelativeSpread == nil {
		t.Errorf("%+v", c)
	}
	if got := *c.SentBytesPerSecond; math.Abs(got-102e6) > 1 {
		t.Errorf("sent %v", got)
	}
	if got := *c.ReceivedBytesPerSecond; got != 1e6 {
		t.Errorf("received %v", got)
	}
	// Half of what went by was there before.
	if _, err := summarizeRuns([]exchangedRun{run(200e6, 0, 50e6)}); !errors.Is(err, ErrNotAlone) {
		t.Errorf("others: %v", err)
	}
	// An application that is silent beside keepalives.
	e, err = summarizeRuns([]exchangedRun{run(4000, 0, 2000)})
	if err != nil || e.Sent != 0 || e.RelativeSpread != nil {
		t.Errorf("silence: %+v, %v", e, err)
	}
}

func TestCountersSince(t *testing.T) {
	// The counter of received bytes was reset.
	if got := (netCounters{8, 2}).since(netCounters{5, 5}); got != (netCounters{3, 2}) {
		t.Errorf("%+v", got)
	}
}
