package e2e

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// The scheduler says, with numbers, which limit keeps a pod pending.
func TestLimitKeepsPending(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	e.residents(pod{name: "protected", application: "plain", limit: "1.05", node: "n"})
	e.create(pod{name: "loud", application: "reader", scheduler: ours})
	e.pending("loud")
	note := e.event("loud", "LimitKeepsPending")
	if !strings.HasPrefix(note, "a limit refused n: predicted 1.1") || !strings.HasSuffix(note, "× for default/protected, whose limit is 1.05×") {
		t.Errorf("event %q", note)
	}
}
