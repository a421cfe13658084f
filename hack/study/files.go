package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// WriteProfiles writes the profiles of the machine and of the applications to a
// folder, each as NAME.yaml. Commands are left out: they name paths of this machine.
func WriteProfiles(folder string, machine *v1alpha1.MachineProfile, profiles []*v1alpha1.ApplicationProfile) error {
	objects := []v1alpha1.Object{machine}
	for _, p := range profiles {
		p.Spec.Command = nil
		objects = append(objects, p)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, o := range objects {
		text, err := v1alpha1.Encode(o)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, o.GetName()+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes rows to a file; the first has the names of the columns.
func WriteCSV(path string, rows [][]string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := csv.NewWriter(file).WriteAll(rows); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Number writes a value for a CSV file.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 7, 64) }

// Optional is Number, and empty for what was not measured.
func Optional(v *float64) string {
	if v == nil {
		return ""
	}
	return Number(*v)
}

// TableHeader begins a table in Markdown.
func TableHeader(w io.Writer, columns ...string) {
	fmt.Fprintf(w, "\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

// WritePage writes a page of docs/results to standard output, made by write from
// the data sets of the folder --data; nothing when write fails.
func WritePage(name string, write func(w io.Writer, data string) error) {
	data := flag.String("data", "predictor/testdata/simulated", "folder of the data sets")
	flag.Parse()
	var page bytes.Buffer
	err := write(&page, *data)
	if err == nil {
		_, err = os.Stdout.Write(page.Bytes())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
