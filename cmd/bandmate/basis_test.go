package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// With three profiles of a machine the model of its memory predicts, with fewer the
// curves do, and every command says which.
func TestBasis(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	store := processtest.StoreWith(t)
	add := func(name string, number int) {
		processtest.WriteFile(t, filepath.Join(store, "applications", name+"@here.yaml"), clitest.MeasuredProfile(name, number))
	}
	want := func(fragments ...string) {
		t.Helper()
		for _, command := range []string{"predict a b -o json", "pair a b -o json", "matrix a b -o json", "matrix -o json", "predict a b --explain"} {
			p := processtest.Bandmate(t, append(strings.Fields(command), "--store", store)...)
			p.WantExit(0)
			for _, fragment := range fragments {
				if strings.HasSuffix(command, "json") != strings.HasPrefix(fragment, `"`) {
					continue
				}
				if got := p.Stdout.String(); !strings.Contains(got, fragment) {
					t.Errorf("%s: no %q in\n%s", command, fragment, got)
				}
			}
		}
	}
	add("a", 1)
	add("b", 2)
	want(`"basis": "curves"`, "basis: curves: fewer than 3 profiles")
	add("c", 3)
	add("d", 4)
	want(`"basis": "memory-model"`, "basis: memory-model: fitted to 4 of 4 profiles")
	p := processtest.Bandmate(t, "predict", "a", "b", "--method", "memgen", "-o", "json", "--store", store)
	p.WantExit(0)
	if strings.Contains(p.Stdout.String(), "basis") {
		t.Errorf("a method of the paper names a basis:\n%s", p.Stdout.String())
	}
	// No one model describes applications of two machines.
	for n, name := range []string{"e", "f", "g"} {
		processtest.WriteFile(t, filepath.Join(store, "applications", name+"@there.yaml"), strings.ReplaceAll(clitest.MeasuredProfile(name, n+1), "machine: {name: here}", "machine: {name: there}"))
	}
	p = processtest.Bandmate(t, "predict", "a", "e", "--explain", "--store", store)
	p.WantExit(0)
	if got := p.Stdout.String(); !strings.Contains(got, "basis: curves: no one model of the memory describes") {
		t.Errorf("two machines:\n%s", got)
	}
	p = processtest.Bandmate(t, "matrix", "a", "b", "e", "f", "-o", "json", "--store", store)
	p.WantExit(0)
	if got := p.Stdout.String(); !strings.Contains(got, `"basis": "mixed"`) {
		t.Errorf("matrix of two machines:\n%s", got)
	}
	// Each is beside a second instance of itself, too, which the model of its machine predicts.
	p = processtest.Bandmate(t, "matrix", "a", "e", "-o", "json", "--store", store)
	p.WantExit(0)
	if got := p.Stdout.String(); !strings.Contains(got, `"basis": "mixed"`) {
		t.Errorf("matrix of one of each machine:\n%s", got)
	}
	p = processtest.Bandmate(t, "pair", "a", "e", "-o", "json", "--store", store)
	p.WantExit(0)
	if got := p.Stdout.String(); !strings.Contains(got, `"basis": "curves"`) {
		t.Errorf("a pair of two machines:\n%s", got)
	}
	// One that the model cannot describe is predicted from its curves, and says why.
	processtest.WriteFile(t, filepath.Join(store, "applications", "odd@here.yaml"), strings.NewReplacer(
		"normalizedPerformance: 0.9981", "normalizedPerformance: 0.3000", "normalizedPerformance: 0.9925", "normalizedPerformance: 0.9900",
	).Replace(clitest.MeasuredProfile("odd", 1)))
	p = processtest.Bandmate(t, "predict", "odd", "a", "--explain", "--store", store)
	p.WantExit(0)
	if got := p.Stdout.String(); !strings.Contains(got, "basis: curves: odd: the model of the memory does not fit") {
		t.Errorf("an odd one:\n%s", got)
	}
	p = processtest.Bandmate(t, "matrix", "-o", "json", "--store", store)
	p.WantExit(0)
	if got := p.Stdout.String(); !strings.Contains(got, `"basis": "mixed"`) {
		t.Errorf("matrix with an odd one:\n%s", got)
	}
}
