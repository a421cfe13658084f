// Command generate writes the catalog of counters into the guide whose path
// is its argument.
package main

import (
	"fmt"
	"os"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want the path of the guide")
	}
	old, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	updated, err := catalog.Insert(string(old), catalog.Rows())
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if updated == string(old) {
		return nil
	}
	return os.WriteFile(args[0], []byte(updated), 0o644)
}
