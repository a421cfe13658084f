package main

import (
	"strings"
	"testing"
)

// Pairs are of interest where somebody sends; the profile that is measured apart
// from its messages is run beside nobody.
func TestRuns(t *testing.T) {
	all := programs("/proc/1/ns/net")
	if all[0].exchanges != nil || all[len(all)-1].exchanges == nil {
		t.Errorf("programs that send come last: %+v", all)
	}
	wanted := runs(all)
	for _, tt := range []struct {
		target, corunner string
		want             bool
	}{
		{"triad", "stencil", false},
		{"triad", "send", true},
		{"waiting", "triad", true},
		{"send", "send", true},
		{apartName, "send", false},
		{"send", apartName, false},
	} {
		if got := wanted(tt.target, tt.corunner); got != tt.want {
			t.Errorf("%s beside %s: %v, want %v", tt.target, tt.corunner, got, tt.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for want, args := range map[string][]string{
		"--rate":      {"--rate", "fast"},
		"--repeats":   {"--repeats", "1"},
		"--far":       {"--rate", "1GB/s"},
		"want one":    {partSample},
		"no receiver": {partExchange, "--namespace", "/no receiver"},
	} {
		if err := dispatch(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
