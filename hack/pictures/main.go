// Command pictures draws the pictures of the documentation, from the measured
// profiles of docs/example and with the code that predicts.
//
//	pictures -root ../..
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

//go:generate go run . -root ../..
//go:generate go run ../../cmd/bandmate profiles show radix-sort --store ../../docs/example/store --svg ../../docs/pictures/show.svg
//go:generate go run ../../cmd/bandmate matrix numpy pointer-chase radix-sort sort sqlite3 triad xz zstd --store ../../docs/example/store --svg ../../docs/pictures/matrix.svg

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	e, err := open(root)
	if err != nil {
		return err
	}
	for _, made := range []struct {
		name string
		draw func(*example) ([]byte, error)
	}{
		{"slowdown", drawSlowdown},
		{"contentiousness", drawContentiousness},
		{"curve", drawCurve},
		{"family", drawFamily},
		{"read-share", drawReadShare},
		{"reading", drawReading},
		{"interval", drawInterval},
		{"basis", drawBasis},
		{"cache", drawCache},
		{"domain", drawDomain},
	} {
		picture, err := made.draw(e)
		if err != nil {
			return fmt.Errorf("%s: %w", made.name, err)
		}
		if err := renameio.WriteFile(filepath.Join(root, "docs", "pictures", made.name+".svg"), picture, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// example is what was measured: profiles, and pairs to hold predictions against.
type example struct {
	profiles []*v1alpha1.ApplicationProfile
	advisor  *advisor.Advisor
	measured map[[2]string]units.NormalizedPerformance
}

func open(root string) (*example, error) {
	s, err := store.Open(filepath.Join(root, "docs", "example", "store"))
	if err != nil {
		return nil, err
	}
	profiles, broken, err := s.Applications()
	if err := errors.Join(append(broken, err)...); err != nil {
		return nil, err
	}
	data, err := evaluation.Read(os.DirFS(filepath.Join(root, "docs", "results", "real-whole-runs")))
	if err != nil {
		return nil, err
	}
	e := &example{profiles: profiles, advisor: advisor.New(profiles, nil), measured: map[[2]string]units.NormalizedPerformance{}}
	for _, pair := range data.Pairs {
		e.measured[[2]string{pair.Target, pair.Corunner}] = pair.Measured
	}
	return e, nil
}

// profile returns that of an application, which has to be there.
func (e *example) profile(name string) (*v1alpha1.ApplicationProfile, error) {
	for _, p := range e.profiles {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s: no such profile", name)
}

// predict predicts as bandmate predict does, or from the curves alone.
func (e *example) predict(model bool, target string, corunners ...string) (predictor.Prediction, error) {
	lookup := e.advisor.LookupCurves
	if model {
		lookup = e.advisor.Lookup
	}
	var all []*predictor.Application
	for _, name := range append([]string{target}, corunners...) {
		entry := lookup(name, "")
		if err := entry.Err(); err != nil {
			return predictor.Prediction{}, err
		}
		all = append(all, entry.Application)
	}
	return predictor.Predict(all[0], all[1:], predictor.Options{})
}
