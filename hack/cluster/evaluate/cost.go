package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"bandmate.dev/bandmate/hack/cluster/results"
)

// cost runs the benchmark of the plugin's cycle and writes what it says.
func cost(ctx context.Context, s settings) error {
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkCycle$", "-count", "5", "./schedplugin")
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("%v: %w: %s: run it in the root of the repository", command, err, text)
	}
	record, err := results.ParseBenchmark(string(text))
	if err != nil {
		return err
	}
	record.Conditions = results.Now(s.kubernetes)
	if err := results.Write(s.records, "cost", record); err != nil {
		return err
	}
	_, err = fmt.Fprint(s.out, record.Table())
	return err
}
