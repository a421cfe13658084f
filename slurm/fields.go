package slurm

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// fields is a table that a command of Slurm prints by its option -o. A job's
// name and comment may hold any byte, line breaks included, so rows begin and
// fields end with marks that nobody could guess when the job was submitted: no
// job can print a row of its own.
type fields struct {
	rowMark, fieldMark string
	// columns are Slurm's letters after the percent sign.
	columns []string
}

// newFields returns a table with marks of its own.
func newFields(columns []string) fields {
	secret := rand.Text()[:16]
	return fields{rowMark: "@" + secret + "@", fieldMark: "|" + secret + "|", columns: columns}
}

// format is the argument of -o.
func (f fields) format() string {
	return f.rowMark + "%" + strings.Join(f.columns, f.fieldMark+"%") + f.fieldMark
}

// rows reads the output: one map of column to field a row. What comes before the
// first row, such as the name of a cluster, is ignored. A row that does not end
// is an error: the output was cut off.
func (f fields) rows(command string, output []byte) ([]map[string]string, error) {
	parts := strings.Split(string(output), f.rowMark)
	rows := make([]map[string]string, 0, len(parts)-1)
	for i, part := range parts[1:] {
		values := strings.Split(part, f.fieldMark)
		if len(values) != len(f.columns)+1 || !strings.HasPrefix(values[len(f.columns)], "\n") {
			return nil, fmt.Errorf("%s: row %d of %d has %d of %d fields: was the output cut off?",
				command, i+1, len(parts)-1, len(values)-1, len(f.columns))
		}
		row := make(map[string]string, len(f.columns))
		for k, column := range f.columns {
			row[column] = values[k]
		}
		rows = append(rows, row)
	}
	return rows, nil
}
