package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/units"
)

// nested is how a format writes lists of numbers within a list: what stands before the
// first of them, between two, and after the last.
type nested struct {
	// place is what an empty list of slowdowns is written as.
	place string
	list  [3]string
	row   [3]string
	// end ends the whole text.
	end string
}

var (
	nestedJSON = nested{
		place: "\n  \"slowdowns\": []",
		list:  [3]string{"\n  \"slowdowns\": [", ",", "\n  ]"},
		row:   [3]string{"\n    [\n      ", ",\n      ", "\n    ]"},
		end:   "\n",
	}
	nestedYAML = nested{
		place: "\nslowdowns: []\n",
		list:  [3]string{"\nslowdowns:\n", "", ""},
		row:   [3]string{"- - ", "\n  - ", "\n"},
	}
)

// writeRows writes r as JSON or YAML with the slowdowns of all pairs, row by row: 10,000
// applications have 10⁸. One that is not known is null. There is at least one application.
func (r MatrixResult) writeRows(w io.Writer, format string, slowdown slowdownOf) error {
	r.Slowdowns = [][]float64{}
	layout := nestedJSON
	text, err := json.MarshalIndent(r, "", "  ")
	if format == cli.FormatYAML {
		layout = nestedYAML
		text, err = yaml.Marshal(r)
	}
	// Texts have no raw line ends, so the place is that of the field.
	before, after, found := bytes.Cut(text, []byte(layout.place))
	if err != nil || !found {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if _, err := w.Write(slices.Concat(before, []byte(layout.list[0]))); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	n := len(r.Applications)
	err = parallel.WriteRows(w, n, func(to []byte, i int) []byte {
		to = append(to, layout.row[0]...)
		for j := range n {
			if j > 0 {
				to = append(to, layout.row[1]...)
			}
			to = appendSlowdown(to, slowdown(i, j))
		}
		to = append(to, layout.row[2]...)
		if i < n-1 {
			to = append(to, layout.list[1]...)
		}
		return to
	})
	if err == nil {
		_, err = w.Write(slices.Concat([]byte(layout.list[2]), after, []byte(layout.end)))
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// untilDone is a writer that fails when ctx is done.
type untilDone struct {
	ctx context.Context
	io.Writer
}

func (u untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Writer.Write(p)
}

func appendSlowdown(to []byte, s units.Slowdown) []byte {
	if math.IsNaN(float64(s)) || math.IsInf(float64(s), 0) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, float64(s), 'f', -1, 64)
}
