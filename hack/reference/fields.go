package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kinds are the objects of files, each with the type of its specification.
var kinds = []struct{ kind, spec string }{
	{"ApplicationProfile", "ApplicationProfileSpec"},
	{"MachineProfile", "MachineProfileSpec"},
}

// structure is a struct type of the API.
type structure struct {
	doc    string
	fields []field
}

// field is one of a structure.
type field struct {
	goName, name, kind, doc string
	// of is the structure that the field holds, or empty.
	of string
	// optional fields may be absent.
	optional bool
	markers  map[string]string
}

// fieldTables returns a table for each structure that the kinds hold, in the
// order in which a reader meets them.
func fieldTables(folder string) (string, error) {
	structures, err := readStructures(folder)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	written := map[string]bool{}
	for i, k := range kinds {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n", k.kind, paragraph(structures[k.kind].doc))
		type place struct{ of, path string }
		queue := []place{{k.spec, "spec"}}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			s, known := structures[at.of]
			if !known {
				return "", fmt.Errorf("%s: no such structure in %s", at.of, folder)
			}
			if written[at.of] {
				fmt.Fprintf(&b, "\n#### `%s` of %s\n\nAs above: %s\n", at.path, k.kind, paragraph(s.doc))
				continue
			}
			written[at.of] = true
			fmt.Fprintf(&b, "\n#### `%s` of %s\n\n%s\n\n", at.path, k.kind, paragraph(s.doc))
			writeFields(&b, s)
			for _, f := range s.fields {
				if f.of != "" {
					queue = append(queue, place{f.of, at.path + "." + f.name + strings.TrimPrefix(f.kind, "object")})
				}
			}
		}
	}
	return b.String(), nil
}

func writeFields(b *strings.Builder, s structure) {
	b.WriteString("| field | type | unit, range | |\n|---|---|---|---|\n")
	for _, f := range s.fields {
		kind := f.kind
		if f.optional {
			kind += ", may be absent"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, kind, f.limits(), strings.ReplaceAll(s.inWords(f), "|", `\|`))
	}
}

// inWords is the comment of a field; one without is told of by a neighbor.
func (s structure) inWords(f field) string {
	doc := f.doc
	if doc == "" {
		named := regexp.MustCompile(`\b` + f.goName + `\b`)
		for _, other := range s.fields {
			if named.MatchString(other.doc) {
				doc = other.doc
				break
			}
		}
	}
	for _, other := range s.fields {
		doc = regexp.MustCompile(`\b`+other.goName+`\b`).ReplaceAllString(doc, "`"+other.name+"`")
	}
	doc = strings.ReplaceAll(doc, "``", "`")
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(doc, "`"+f.name+"`"+verb); ok {
			first, size := utf8.DecodeRuneInString(rest)
			return capital(first) + rest[size:]
		}
	}
	return doc
}

// capital begins a sentence; Greek letters are symbols and stay as they are.
func capital(r rune) string {
	if unicode.Is(unicode.Greek, r) {
		return string(r)
	}
	return string(unicode.ToUpper(r))
}

var units = []struct{ suffix, unit string }{
	{"BytesPerSecond", "bytes per second"},
	{"Nanoseconds", "ns"},
	{"Seconds", "s"},
	{"Bytes", "bytes"},
	{"Share", "part of 1"},
	{"NormalizedPerformance", "part of 1"},
	{"RelativeSpread", "part of the median"},
	{"RelativeUncertainty", "part of the total"},
	{"RelativeInterval", "part of the median"},
}

// limits are the unit that the name tells, and what the markers allow.
func (f field) limits() string {
	var parts []string
	for _, u := range units {
		if strings.HasSuffix(f.goName, u.suffix) {
			parts = append(parts, u.unit)
			break
		}
	}
	if low, ok := f.markers["Minimum"]; ok {
		if _, exclusive := f.markers["ExclusiveMinimum"]; exclusive {
			parts = append(parts, "above "+low)
		} else {
			parts = append(parts, "from "+low)
		}
	}
	if high, ok := f.markers["Maximum"]; ok {
		parts = append(parts, "to "+high)
	}
	if values, ok := f.markers["Enum"]; ok {
		parts = append(parts, "`"+strings.ReplaceAll(values, ";", "`, `")+"`")
	}
	for _, count := range []struct{ marker, text string }{
		{"MinItems", "at least %s"}, {"MaxItems", "at most %s"}, {"MaxLength", "at most %s characters"},
	} {
		if n, ok := f.markers[count.marker]; ok {
			parts = append(parts, fmt.Sprintf(count.text, n))
		}
	}
	return strings.Join(parts, ", ")
}

func paragraph(doc string) string { return strings.Join(strings.Fields(doc), " ") }

// readStructures reads every struct type of the package in a folder.
func readStructures(folder string) (map[string]structure, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	found := map[string]structure{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "zz_") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			types, ok := declaration.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, s := range types.Specs {
				named, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if of, ok := named.Type.(*ast.StructType); ok {
					doc, _ := comment(types.Doc)
					found[named.Name.Name] = structure{doc: doc, fields: fieldsOf(of)}
				}
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w: no types there", folder, os.ErrNotExist)
	}
	return found, nil
}

func fieldsOf(s *ast.StructType) []field {
	var fields []field
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || f.Tag == nil {
			continue // embedded: apiVersion, kind, metadata
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		options := strings.Split(reflect.StructTag(tag).Get("json"), ",")
		kind, of := kindOf(f.Type)
		doc, markers := comment(f.Doc)
		fields = append(fields, field{
			goName: f.Names[0].Name, name: options[0], kind: kind, of: of, doc: doc, markers: markers,
			optional: slices.ContainsFunc(options[1:], func(o string) bool { return strings.HasPrefix(o, "omit") }),
		})
	}
	return fields
}

// kindOf names the type of a field as a file has it, and its structure.
func kindOf(t ast.Expr) (kind, of string) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return kindOf(t.X)
	case *ast.ArrayType:
		kind, of = kindOf(t.Elt)
		if of != "" {
			return "object[]", of
		}
		return kind + "[]", ""
	case *ast.SelectorExpr: // metav1.Time
		return "time, as 2006-01-02T15:04:05Z", ""
	case *ast.Ident:
		switch t.Name {
		case "string":
			return "string", ""
		case "bool":
			return "true or false", ""
		case "float64":
			return "number", ""
		case "int", "int32", "int64":
			return "whole number", ""
		}
		return "object", t.Name
	}
	return "", ""
}

// comment divides a doc comment into its text and its kubebuilder markers.
func comment(group *ast.CommentGroup) (text string, markers map[string]string) {
	markers = map[string]string{}
	if group == nil {
		return "", markers
	}
	var lines []string
	for _, c := range group.List {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		if marker, ok := strings.CutPrefix(line, "+kubebuilder:validation:"); ok {
			name, value, _ := strings.Cut(marker, "=")
			markers[name] = value
			continue
		}
		if !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
		}
	}
	return paragraph(strings.Join(lines, " ")), markers
}
