package evaluation

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
)

// table reads a CSV file with a header line, row by row, and places every
// fault at file:line:column.
type table struct {
	file    string
	reader  *csv.Reader
	columns map[string]int
	row     []string
}

// openTable reads the header and checks that every required column is there
// once.
func openTable(r io.Reader, file string, required ...string) (*table, error) {
	t := &table{file: file, reader: csv.NewReader(r), columns: map[string]int{}}
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
		if !t.has(name) {
			return nil, fmt.Errorf("%s:1:1: no column %q in the header", file, name)
		}
	}
	return t, nil
}

func (t *table) has(column string) bool {
	_, ok := t.columns[column]
	return ok
}

// next reads a row; io.EOF after the last.
func (t *table) next() error {
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

func (t *table) parseError(err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("%s:%d:%d: %w", t.file, parse.Line, parse.Column, parse.Err)
	}
	return fmt.Errorf("%s: %w", t.file, err)
}

// text returns a field that must not be empty.
func (t *table) text(column string) (string, error) {
	i := t.columns[column]
	if t.row[i] == "" {
		return "", t.fault(column, errors.New("empty"))
	}
	return t.row[i], nil
}

// number returns a finite number within low and high.
func (t *table) number(column string, low, high float64) (float64, error) {
	text := t.row[t.columns[column]]
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, t.fault(column, fmt.Errorf("%q is not a number", text))
	}
	if v < low || v > high {
		return 0, t.fault(column, fmt.Errorf("%v: want %v to %v", v, low, high))
	}
	return v, nil
}

// positive returns a finite number above zero.
func (t *table) positive(column string) (float64, error) {
	v, err := t.number(column, 0, math.MaxFloat64)
	if err == nil && v == 0 {
		err = t.fault(column, errors.New("0: want a number above 0"))
	}
	return v, err
}

// rate returns a bandwidth of zero or more.
func (t *table) rate(column string) (float64, error) {
	return t.number(column, 0, math.MaxFloat64)
}

// fault places an error at a field of the current row.
func (t *table) fault(column string, err error) error {
	line, at := t.reader.FieldPos(t.columns[column])
	return fmt.Errorf("%s:%d:%d: %s: %w", t.file, line, at, column, err)
}

// readTable opens a file of a data set and hands each row to read.
func readTable(fsys fs.FS, file string, required []string, read func(*table) error) error {
	f, err := fsys.Open(file)
	if err != nil {
		return fmt.Errorf("data set: %w", err)
	}
	defer f.Close()
	t, err := openTable(f, file, required...)
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
