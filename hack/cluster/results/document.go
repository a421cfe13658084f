package results

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Tables returns every table of the document, by name, from the records of a
// folder.
func Tables(folder string) (map[string]string, error) {
	situations, err := read[Situations](filepath.Join(folder, "situations.json"))
	if err != nil {
		return nil, err
	}
	quality, err := read[Quality](filepath.Join(folder, "quality.json"))
	if err != nil {
		return nil, err
	}
	qualityTable, err := quality.Table()
	if err != nil {
		return nil, err
	}
	throughput, err := readAll[Throughput](folder, "throughput-*.json")
	if err != nil {
		return nil, err
	}
	if len(throughput) == 0 {
		return nil, fmt.Errorf("results: no throughput-*.json in %s: hack/evaluate-kubernetes.sh makes them", folder)
	}
	cost, err := read[Cost](filepath.Join(folder, "cost.json"))
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"situations": situations.Table(), "quality": qualityTable,
		"throughput": ThroughputTable(throughput), "cost": cost.Table(),
	}, nil
}

// Rewrite returns a document with its tables replaced: each stands between the
// lines <!-- NAME: begin, … --> and <!-- NAME: end -->. A table without these
// lines is an error.
func Rewrite(document string, tables map[string]string) (string, error) {
	for name, table := range tables {
		before, rest, ok := strings.Cut(document, "<!-- "+name+": begin")
		remark, rest, okToo := strings.Cut(rest, "-->\n")
		_, after, ended := strings.Cut(rest, "<!-- "+name+": end -->")
		if !ok || !okToo || !ended {
			return "", fmt.Errorf("results: the document has no lines <!-- %s: begin --> and <!-- %s: end -->", name, name)
		}
		document = before + "<!-- " + name + ": begin" + remark + "-->\n\n" + table + "\n<!-- " + name + ": end -->" + after
	}
	return document, nil
}
