package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
)

// With three profiles of a machine the model of its memory predicts, with fewer the
// curves do, and every command says which.
func TestBasis(t *testing.T) {
	store := storeWith(t)
	add := func(name string, number int) {
		writeFile(t, filepath.Join(store, "applications", name+"@here.yaml"), clitest.MeasuredProfile(name, number))
	}
	want := func(fragments ...string) {
		t.Helper()
		for _, command := range []string{"predict a b -o json", "pair a b -o json", "matrix a b -o json", "matrix -o json", "predict a b --explain"} {
			p := bandmate(t, append(strings.Fields(command), "--store", store)...)
			p.wantExit(0)
			for _, fragment := range fragments {
				if strings.HasSuffix(command, "json") != strings.HasPrefix(fragment, `"`) {
					continue
				}
				if got := p.stdout.String(); !strings.Contains(got, fragment) {
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
	p := bandmate(t, "predict", "a", "b", "--method", "memgen", "-o", "json", "--store", store)
	p.wantExit(0)
	if strings.Contains(p.stdout.String(), "basis") {
		t.Errorf("a method of the paper names a basis:\n%s", p.stdout.String())
	}
	// No one model describes applications of two machines.
	for n, name := range []string{"e", "f", "g"} {
		writeFile(t, filepath.Join(store, "applications", name+"@there.yaml"), strings.ReplaceAll(clitest.MeasuredProfile(name, n+1), "machine: {name: here}", "machine: {name: there}"))
	}
	p = bandmate(t, "predict", "a", "e", "--explain", "--store", store)
	p.wantExit(0)
	if got := p.stdout.String(); !strings.Contains(got, "basis: curves: no one model of the memory describes") {
		t.Errorf("two machines:\n%s", got)
	}
	p = bandmate(t, "matrix", "a", "b", "e", "f", "-o", "json", "--store", store)
	p.wantExit(0)
	if got := p.stdout.String(); !strings.Contains(got, `"basis": "mixed"`) {
		t.Errorf("matrix of two machines:\n%s", got)
	}
	// Each is beside a second instance of itself, too, which the model of its machine predicts.
	p = bandmate(t, "matrix", "a", "e", "-o", "json", "--store", store)
	p.wantExit(0)
	if got := p.stdout.String(); !strings.Contains(got, `"basis": "mixed"`) {
		t.Errorf("matrix of one of each machine:\n%s", got)
	}
	p = bandmate(t, "pair", "a", "e", "-o", "json", "--store", store)
	p.wantExit(0)
	if got := p.stdout.String(); !strings.Contains(got, `"basis": "curves"`) {
		t.Errorf("a pair of two machines:\n%s", got)
	}
	// One that the model cannot describe is predicted from its curves, and says why.
	writeFile(t, filepath.Join(store, "applications", "odd@here.yaml"), strings.NewReplacer(
		"normalizedPerformance: 0.9981", "normalizedPerformance: 0.3000", "normalizedPerformance: 0.9925", "normalizedPerformance: 0.9900",
	).Replace(clitest.MeasuredProfile("odd", 1)))
	p = bandmate(t, "predict", "odd", "a", "--explain", "--store", store)
	p.wantExit(0)
	if got := p.stdout.String(); !strings.Contains(got, "basis: curves: odd: the model of the memory does not fit") {
		t.Errorf("an odd one:\n%s", got)
	}
	p = bandmate(t, "matrix", "-o", "json", "--store", store)
	p.wantExit(0)
	if got := p.stdout.String(); !strings.Contains(got, `"basis": "mixed"`) {
		t.Errorf("matrix with an odd one:\n%s", got)
	}
}
