package parallel

import "io"

// rowsAtOnce is how many rows WriteRows holds in memory.
const rowsAtOnce = 64

// WriteRows writes n rows in order. The function row appends row i to a slice and returns
// it; it is called on as many goroutines as may run at once. Some rows are in memory at a
// time. The error is that of w.
func WriteRows(w io.Writer, n int, row func(to []byte, i int) []byte) error {
	rows := make([][]byte, min(n, rowsAtOnce))
	for first := 0; first < n; first += len(rows) {
		part := rows[:min(len(rows), n-first)]
		Each(len(part), func(k int) { part[k] = row(part[k][:0], first+k) })
		for _, text := range part {
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
	}
	return nil
}
