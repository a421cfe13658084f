// Command reference writes the generated parts of docs/reference: the fields of
// profiles, from the doc comments and validation markers of their types, and the
// metrics, from the code that creates them.
//
//	reference -root ../..
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

//go:generate go run . -root ../..

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	fields, err := fieldTables(filepath.Join(root, "api", "v1alpha1"))
	if err != nil {
		return err
	}
	scheduler, err := metricTable(filepath.Join(root, "schedplugin"))
	if err != nil {
		return err
	}
	agent, err := metricTable(filepath.Join(root, "agent"))
	if err != nil {
		return err
	}
	pages := filepath.Join(root, "docs", "reference")
	return errors.Join(
		replaceSection(filepath.Join(pages, "files.md"), "fields", fields),
		replaceSection(filepath.Join(pages, "metrics.md"), "scheduler", scheduler),
		replaceSection(filepath.Join(pages, "metrics.md"), "agent", agent),
	)
}

// replaceSection writes text between the lines that begin and end the named
// section of a page.
func replaceSection(path, name, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := fmt.Sprintf("<!-- %s: begin, written by go generate -->\n", name)
	end := fmt.Sprintf("<!-- %s: end -->\n", name)
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s: want the lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return renameio.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
