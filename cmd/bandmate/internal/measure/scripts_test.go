package measure_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bandmate.dev/bandmate/cmd/bandmate/internal/scripttest"
	"bandmate.dev/bandmate/internal/requires"
)

func TestMain(m *testing.M) {
	scripttest.Main(m, map[string]func(){"closed-loop": closedLoop})
}

// TestScripts measures applications, as a user does. The scripts are apart from those of
// cmd/bandmate because they take minutes.
func TestScripts(t *testing.T) {
	p := scripttest.Params()
	p.Cmds["exclusive"] = exclusive
	p.Cmds["here"] = here
	p.Cmds["cgroup"] = cgroup
	common := p.Condition
	p.Condition = func(name string) (bool, error) {
		switch name {
		case "cgroups":
			return cgroupsWork()
		case "time":
			deadline, limited := t.Deadline()
			return !limited || time.Until(deadline) > measuringTime || os.Getenv(requires.Everything) != "", nil
		}
		return common(name)
	}
	testscript.Run(t, p)
}

// measuringTime is what a script that measures takes at most, on a busy machine.
const measuringTime = 150 * time.Second

// measuring is held by the script that measures: two at a time would disturb each other,
// and each would take the longer for it.
var measuring sync.Mutex

// exclusive lets no other script measure until this one ends.
func exclusive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: exclusive")
	}
	measuring.Lock()
	ts.Defer(measuring.Unlock)
}

// measuredHere is the profile of this machine that the first script measured. The script
// that uses it holds measuring.
var measuredHere []byte

// here puts the profile of this machine into the store, measured once for all scripts.
func here(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: here")
	}
	file := filepath.Join(ts.Getenv("BANDMATE_STORE"), "machines", "here.yaml")
	if measuredHere == nil {
		ts.Check(ts.Exec("bandmate", "machine", "--quick", "--name", "here", "-q"))
		measuredHere = []byte(ts.ReadFile(file))
		return
	}
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, measuredHere, 0o644))
}
