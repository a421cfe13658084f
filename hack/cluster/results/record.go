package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Conditions say when and on what something was measured.
type Conditions struct {
	Time time.Time `json:"time"`
	CPUs int       `json:"cpus"`
	// Kubernetes is the version of the control plane.
	Kubernetes string `json:"kubernetes"`
	// Note is for a reader of the table: anything that sets this measurement
	// apart from what the text says.
	Note string `json:"note,omitempty"`
}

// Now returns the conditions of a measurement on this machine.
func Now(kubernetes string) Conditions {
	return Conditions{Time: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), Kubernetes: kubernetes}
}

// Write writes a record to folder/name.json; the folder is made when missing.
func Write(folder, name string, record any) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("results: %s: %w", name, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// read decodes one record strictly: an unknown field is an error, because it would be
// missing from the table.
func read[R any](file string) (record R, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return record, fmt.Errorf("results: %w: hack/evaluate-kubernetes.sh makes it", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&record); err != nil {
		return record, fmt.Errorf("results: %s: %w", file, err)
	}
	return record, nil
}

// readAll decodes every record of a folder whose name matches, in the order of
// their names.
func readAll[R any](folder, pattern string) ([]R, error) {
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	var records []R
	for _, file := range files {
		r, err := read[R](file)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}
