package reexec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const parrot Role = "parrot"

func TestMain(m *testing.M) {
	parrot.Run(func(told string) int {
		dir, err := os.Getwd()
		if err != nil {
			return 1
		}
		fmt.Printf("%s in %s, told %q, taken: %v, %s", os.Args[0], dir, told, parrot.Taken(), os.Getenv("BANDMATE_TEST_MORE"))
		return 7
	})
	os.Exit(m.Run())
}

func TestRunsThisProgramInTheRole(t *testing.T) {
	if parrot.Taken() {
		t.Fatal("the test has the role")
	}
	cmd := parrot.Command(`{"a": "b=c"}`)
	cmd.Env = append(cmd.Env, "BANDMATE_TEST_MORE=and more")
	output, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want status 7", err)
	}
	if want := `bandmate-parrot in /, told "{\"a\": \"b=c\"}", taken: true, and more`; string(output) != want {
		t.Errorf("got  %s\nwant %s", output, want)
	}
}

// An empty word is one, too.
func TestRunsWithNothingToTell(t *testing.T) {
	output, err := parrot.Command("").Output()
	if err == nil || !strings.Contains(string(output), `told ""`) {
		t.Errorf("%q, %v", output, err)
	}
}

// Without the role, Run returns.
func TestOtherProcessesAreLeftAlone(t *testing.T) {
	Role("stranger").Run(func(string) int {
		t.Error("has a role that nobody gave it")
		return 1
	})
	t.Setenv("BANDMATE_STRANGER", "")
	if !Role("stranger").Taken() {
		t.Error("the variable gives the role")
	}
}
