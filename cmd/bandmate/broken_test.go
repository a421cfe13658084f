package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// A file that cannot be read is named by every command whose answer it may change: the
// model of the memory lacks it, whoever is asked about.
func TestBrokenFilesAreNamed(t *testing.T) {
	store := ordinaryStore(t)
	processtest.WriteFile(t, filepath.Join(store, "applications", "broken@here.yaml"), "kind: Pod")
	processtest.WriteFile(t, filepath.Join(store, "machines", "damaged.yaml"), "kind: [")
	page := filepath.Join(t.TempDir(), "report.html")
	for _, line := range []string{
		"predict xz sqlite", "predict xz sqlite -o json", "predict xz sqlite --explain",
		"pair", "pair xz sqlite", "pair -o json",
		"matrix", "matrix xz sqlite", "matrix -o csv", "matrix -o json", "matrix --csv -",
		"profiles list", "profiles list -o csv", "profiles list -o json",
		"report -o " + page, "report -o -", "report -o json", "report xz sqlite -o -",
		"slurm advise --application xz -p all --squeue testdata/width/squeue.json --sinfo testdata/width/sinfo.json",
		"slurm advise --application xz -p all --squeue testdata/width/squeue.json --sinfo testdata/width/sinfo.json -o json",
		"slurm advise --application xz -p all --squeue testdata/width/squeue.json --sinfo testdata/width/sinfo.json --exclude-list",
	} {
		p := processtest.Bandmate(t, append(strings.Fields(line), "--store", store)...)
		p.WantExit(0)
		for _, file := range []string{"broken@here.yaml", "damaged.yaml"} {
			if !strings.Contains(p.Stdout.String()+p.Stderr.String(), file) {
				t.Errorf("%s does not name %s", line, file)
			}
		}
	}
	l := startServe(t, "--store", store)
	for _, path := range []string{"api/v1/predict?target=xz&corunner=sqlite", "api/v1/matrix", "api/v1/matrix?application=xz&application=sqlite", "api/v1/applications", "api/v1/machines", ""} {
		l.want(path, 200, "broken@here.yaml", "damaged.yaml")
	}
	p := processtest.Bandmate(t, "predict", "xz", "broken", "--store", store)
	p.WantExit(1, "broken@here.yaml")
}
