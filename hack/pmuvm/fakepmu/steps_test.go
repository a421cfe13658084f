package fakepmu

import (
	"strings"
	"testing"
)

func TestParseSteps(t *testing.T) {
	steps, err := ParseSteps([]string{
		"rate", "* 0 1 2", "add", "* 0 1 2", "sleep", "1ms", "offline", "2", "online", "2",
		"paranoid", "-1", "remove", "amd_umc_0", "errno", "* 0 19", "back", "* * 1000",
	})
	if err != nil || len(steps) != 9 {
		t.Errorf("%d steps, err %v, want 9", len(steps), err)
	}
	for _, text := range []string{"rate", "dance 1", "rate *", "sleep soon", "offline all", "paranoid very", "errno *-0-x", "back *"} {
		if _, err := ParseSteps(strings.SplitN(text, " ", 2)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestStepNamesItself(t *testing.T) {
	steps, err := ParseSteps([]string{"add", "nothing 0 1 2"})
	if err != nil {
		t.Fatal(err)
	}
	// Outside the guest there is no module to control.
	if err := steps[0].Run(); err == nil || !strings.Contains(err.Error(), "add nothing 0 1 2") {
		t.Errorf("error %v, want one that names the step", err)
	}
}
