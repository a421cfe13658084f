package onboard

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/requires"
)

const someInterfaces = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0
  eth0:1416872240   80840    0    0    0     0          0         0  6728900   60928    0    0    0     0       0          0
  eth1: 60 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
`

func TestParseInterfaces(t *testing.T) {
	all, err := ParseInterfaces(strings.NewReader(someInterfaces))
	if err != nil {
		t.Fatal(err)
	}
	if got := all["eth0"]; got != (InterfaceCounters{1416872240, 6728900}) || len(all) != 3 {
		t.Errorf("%+v", all)
	}
	if sum, err := addInterfaces(all, nil); err != nil || sum != (InterfaceCounters{1416872300, 6729000}) {
		t.Errorf("all but the loopback: %+v, %v", sum, err)
	}
	if sum, err := addInterfaces(all, []string{"lo"}); err != nil || sum.Sent != 900 {
		t.Errorf("the loopback by name: %+v, %v", sum, err)
	}
	if _, err := addInterfaces(all, []string{"eth7"}); err == nil || !strings.Contains(err.Error(), "eth7") {
		t.Errorf("an interface that is not there: %v", err)
	}
	for name, text := range map[string]string{
		"no colon":     "a\nb\neth0 1 2 3\n",
		"few counters": "a\nb\neth0: 1 2 3\n",
		"not a number": strings.Replace(someInterfaces, "1416872240", "-1", 1),
		"sent":         strings.Replace(someInterfaces, "6728900", "many", 1),
		"twice":        strings.Replace(someInterfaces, "eth1", "eth0", 1),
	} {
		if _, err := ParseInterfaces(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The kernel's own text is read, whatever interfaces there are.
func TestReadInterfaces(t *testing.T) {
	if _, err := os.Stat(netDevice); err != nil {
		requires.Unmet(t, "needs %s", netDevice)
	}
	if _, err := readInterfaces(nil); err != nil {
		t.Error(err)
	}
}

func TestCommunicationOf(t *testing.T) {
	run := func(sent, received, foreignSent float64) exchanged {
		return exchanged{seconds: 2, sent: sent, received: received, foreignSent: foreignSent}
	}
	e, err := communicationOf([]exchanged{run(200e6, 2e6, 0), run(220e6, 2e6, 1000), run(204e6, 2e6, 0)})
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
	if _, err := communicationOf([]exchanged{run(200e6, 0, 50e6)}); !errors.Is(err, ErrNotAlone) {
		t.Errorf("others: %v", err)
	}
	// An application that is silent beside keepalives.
	e, err = communicationOf([]exchanged{run(4000, 0, 2000)})
	if err != nil || e.Sent != 0 || e.RelativeSpread != nil {
		t.Errorf("silence: %+v, %v", e, err)
	}
}

func TestRise(t *testing.T) {
	if got := rise(5, 8); got != 3 {
		t.Error(got)
	}
	if got := rise(5, 2); got != 2 {
		t.Errorf("a counter that was reset: %v", got)
	}
}

func FuzzParseInterfaces(f *testing.F) {
	f.Add([]byte(someInterfaces))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseInterfaces(bytes.NewReader(data))
		if err != nil {
			return
		}
		for name := range all {
			if name == "" || strings.TrimSpace(name) != name {
				t.Errorf("name %q", name)
			}
		}
	})
}
