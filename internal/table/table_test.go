package table

import (
	"strings"
	"testing"
)

// row reads the first row of a table of the columns name, n and x.
func row(text string, read func(*Table)) error {
	return Each(strings.NewReader(text), "t.csv", []string{"name", "n", "x"}, read)
}

func TestEach(t *testing.T) {
	const text = "x,more,name,n\n-1.5,,a,7\n2,,\"b,c\",0\n"
	var names []string
	var numbers []float64
	err := row(text, func(r *Table) {
		names = append(names, r.Text("name"))
		numbers = append(numbers, float64(r.Whole("n", 0, 7)), r.Number("x", -2, 2))
		if !r.Has("more") || r.Has("less") {
			t.Error("more is a column, less is none")
		}
	})
	if err != nil || strings.Join(names, " ") != "a b,c" || len(numbers) != 4 || numbers[0] != 7 || numbers[1] != -1.5 || numbers[3] != 2 {
		t.Errorf("%q, %v, %v", names, numbers, err)
	}
}

// TestFilesOfSpreadsheets reads a byte order mark and line ends as spreadsheets write them.
func TestFilesOfSpreadsheets(t *testing.T) {
	for _, text := range []string{"\ufeffname,n,x\r\na,1,2\r\n", "\ufeff\"name\",\"n\",\"x\"\n\"a\",\"1\",\"2\"\n"} {
		var name string
		if err := row(text, func(r *Table) { name = r.Text("name") }); err != nil || name != "a" {
			t.Errorf("%q: %q, %v", text, name, err)
		}
	}
}

func TestFaults(t *testing.T) {
	const header = "name,n,x\n"
	readers := map[string]func(*Table){
		"text":         func(r *Table) { r.Text("name") },
		"whole":        func(r *Table) { r.Whole("n", 1, 9) },
		"number":       func(r *Table) { r.Number("x", 1, 9) },
		"positive":     func(r *Table) { r.Positive("x") },
		"not negative": func(r *Table) { r.NotNegative("x") },
	}
	for _, test := range []struct{ text, read, want string }{
		{"", "text", "t.csv:1:1: empty: want a header line with [name n x]"},
		{"name,x\n", "text", `t.csv:1:1: no column "n" in the header`},
		{"name,n,x,n\n", "text", `t.csv:1:10: column "n" appears twice`},
		{header + "a,1\n", "text", "t.csv:2:1: wrong number of fields"},
		{header + "a\"b,1,1\n", "text", `t.csv:2:2: bare " in non-quoted-field`},
		{header + ",1,1\n", "text", "t.csv:2:1: name: empty"},
		{header + "a,1.5,1\n", "whole", `t.csv:2:3: n: "1.5" is not a whole number`},
		{header + "a,0,1\n", "whole", "t.csv:2:3: n: 0: want 1 to 9"},
		{header + "a,10,1\n", "whole", "t.csv:2:3: n: 10: want 1 to 9"},
		{header + "a,1,\n", "number", `t.csv:2:5: x: "" is not a number`},
		{header + "a,1,NaN\n", "number", `t.csv:2:5: x: "NaN" is not a number`},
		{header + "a,1,-Inf\n", "not negative", `t.csv:2:5: x: "-Inf" is not a number`},
		{header + "a,1,1e400\n", "positive", `t.csv:2:5: x: "1e400" is not a number`},
		{header + "a,1,9.5\n", "number", "t.csv:2:5: x: 9.5: want 1 to 9"},
		{header + "a,1,0\n", "positive", "t.csv:2:5: x: 0: want a number above 0"},
		{header + "a,1,-1\n", "not negative", "t.csv:2:5: x: -1: want 0 or more"},
	} {
		if err := row(test.text, readers[test.read]); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}
