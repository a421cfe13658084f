// Package table reads CSV with a header line.
package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Table is CSV with a header line whose columns may stand in any order, at one of
// its rows. Every fault is placed at file:line:column.
type Table struct {
	file    string
	reader  *csv.Reader
	columns map[string]int
	row     []string
}

// open reads the header and checks that every required column is there
// once.
func open(r io.Reader, file string, required []string) (*Table, error) {
	t := &Table{file: file, reader: csv.NewReader(r), columns: map[string]int{}}
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
func (t *Table) Text(column string) (string, error) {
	i := t.columns[column]
	if t.row[i] == "" {
		return "", t.Fault(column, errors.New("empty"))
	}
	return t.row[i], nil
}

// Number returns a finite number within low and high.
func (t *Table) Number(column string, low, high float64) (float64, error) {
	v, err := t.finite(column)
	if err == nil && (v < low || v > high) {
		return 0, t.Fault(column, fmt.Errorf("%v: want %v to %v", v, low, high))
	}
	return v, err
}

// Positive returns a finite number above zero.
func (t *Table) Positive(column string) (float64, error) {
	v, err := t.finite(column)
	if err == nil && v <= 0 {
		return 0, t.Fault(column, fmt.Errorf("%v: want a number above 0", v))
	}
	return v, err
}

// NotNegative returns a finite number of zero or more.
func (t *Table) NotNegative(column string) (float64, error) {
	v, err := t.finite(column)
	if err == nil && v < 0 {
		return 0, t.Fault(column, fmt.Errorf("%v: want 0 or more", v))
	}
	return v, err
}

func (t *Table) finite(column string) (float64, error) {
	text := t.row[t.columns[column]]
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, t.Fault(column, fmt.Errorf("%q is not a number", text))
	}
	return v, nil
}

// Whole returns a whole number within low and high.
func (t *Table) Whole(column string, low, high int) (int, error) {
	text := t.row[t.columns[column]]
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, t.Fault(column, fmt.Errorf("%q is not a whole number", text))
	}
	if v < low || v > high {
		return 0, t.Fault(column, fmt.Errorf("%d: want %d to %d", v, low, high))
	}
	return v, nil
}

// Fault places an error at a field of the current row.
func (t *Table) Fault(column string, err error) error {
	line, at := t.reader.FieldPos(t.columns[column])
	return fmt.Errorf("%s:%d:%d: %s: %w", t.file, line, at, column, err)
}

// Each hands every row of r to read, which must not keep the table.
func Each(r io.Reader, file string, required []string, read func(*Table) error) error {
	t, err := open(r, file, required)
	if err != nil {
		return err
	}
	for {
		switch err := t.next(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := read(t); err != nil {
			return err
		}
	}
}
