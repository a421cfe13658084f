// Package table reads CSV with a header line.
package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Table is CSV with a header line whose columns may stand in any order, at one of its
// rows. Errors name file:line:column. Reading an invalid field returns some value and
// makes Each fail.
type Table struct {
	file    string
	reader  *csv.Reader
	columns map[string]int
	row     []string
	err     error // of the first field that failed
}

// byteOrderMark begins the CSV of some spreadsheets.
const byteOrderMark = "\ufeff"

// open reads the header and checks that every required column is there
// once.
func open(r io.Reader, file string, required []string) (*Table, error) {
	text := bufio.NewReader(r)
	if start, _ := text.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it was read
	}
	t := &Table{file: file, reader: csv.NewReader(text), columns: map[string]int{}}
	t.reader.ReuseRecord = true
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1:1: empty: want a header line with %v", file, required)
	}
	if err != nil {
		return nil, t.parseError(err)
	}
	for i, name := range header {
		if _, twice := t.columns[name]; twice {
			line, column := t.reader.FieldPos(i)
			return nil, fmt.Errorf("%s:%d:%d: column %q appears twice", file, line, column, name)
		}
		t.columns[name] = i
	}
	for _, name := range required {
		if !t.Has(name) {
			return nil, fmt.Errorf("%s:1:1: no column %q in the header", file, name)
		}
	}
	return t, nil
}

// Has reports whether the header names a column.
func (t *Table) Has(column string) bool {
	_, ok := t.columns[column]
	return ok
}

// Given reports whether the header names a column and its field is not empty.
func (t *Table) Given(column string) bool {
	i, ok := t.columns[column]
	return ok && t.row[i] != ""
}

// next reads a row; io.EOF after the last.
func (t *Table) next() error {
	row, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return t.parseError(err)
	}
	t.row = row
	return nil
}

func (t *Table) parseError(err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("%s:%d:%d: %w", t.file, parse.Line, parse.Column, parse.Err)
	}
	return fmt.Errorf("%s: %w", t.file, err)
}

// Text returns a field that must not be empty.
func (t *Table) Text(column string) string {
	text := t.row[t.columns[column]]
	if text == "" {
		t.Fail(column, errors.New("empty"))
	}
	return text
}

// Number returns a finite number within low and high.
func (t *Table) Number(column string, low, high float64) float64 {
	return t.number(column, func(v float64) bool { return v >= low && v <= high }, fmt.Sprintf("%v to %v", low, high))
}

// Positive returns a finite number above zero.
func (t *Table) Positive(column string) float64 {
	return t.number(column, func(v float64) bool { return v > 0 }, "a number above 0")
}

// NotNegative returns a finite number of zero or more.
func (t *Table) NotNegative(column string) float64 {
	return t.number(column, func(v float64) bool { return v >= 0 }, "0 or more")
}

func (t *Table) number(column string, valid func(float64) bool, want string) float64 {
	text := t.row[t.columns[column]]
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		t.Fail(column, fmt.Errorf("%q is not a number", text))
	case !valid(v):
		t.Fail(column, fmt.Errorf("%v: want %s", v, want))
	}
	return v
}

// Whole returns a whole number within low and high.
func (t *Table) Whole(column string, low, high int) int {
	text := t.row[t.columns[column]]
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		t.Fail(column, fmt.Errorf("%q is not a whole number", text))
	case v < low || v > high:
		t.Fail(column, fmt.Errorf("%d: want %d to %d", v, low, high))
	}
	return v
}

// Fail makes Each return err, placed at a field of the current row, unless an
// earlier field has failed.
func (t *Table) Fail(column string, err error) {
	if t.err == nil {
		line, at := t.reader.FieldPos(t.columns[column])
		t.err = fmt.Errorf("%s:%d:%d: %s: %w", t.file, line, at, column, err)
	}
}

// Each hands every row of r to read, which must not keep the table. The first field
// that fails ends it after its row.
func Each(r io.Reader, file string, required []string, read func(*Table)) error {
	t, err := open(r, file, required)
	if err != nil {
		return err
	}
	for t.err == nil {
		switch err := t.next(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		read(t)
	}
	return t.err
}
