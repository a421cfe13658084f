package v1alpha1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"
)

// Limits on what is read.
const (
	// MaxDocumentBytes is the size of one profile. Kubernetes itself stores
	// no object above about 1.5 MiB.
	MaxDocumentBytes = 2 << 20
	// MaxStreamBytes is the size of a file with many profiles.
	MaxStreamBytes = 16 << 20
	// MaxDocuments is the number of YAML documents in a file.
	MaxDocuments = 10_000
)

// maxReported bounds the faults that an error lists.
const maxReported = 20

// Fault is an error in a file.
//
// +kubebuilder:object:generate=false
type Fault struct {
	// Line is counted from 1; 0 when unknown.
	Line int
	// Err is a *field.Error for a value that Validate refuses.
	Err error
}

// Error starts with the line where it is known. It leaves out the middle of a long text: a
// file may hold a megabyte where a word is wanted.
func (f *Fault) Error() string {
	text := f.Err.Error()
	const kept = 400 // bytes at either end
	if len(text) > 2*kept {
		text = strings.ToValidUTF8(text[:kept], "") + "…" + strings.ToValidUTF8(text[len(text)-kept:], "")
	}
	if f.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", f.Line, text)
}

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// Decode reads exactly one profile, YAML or JSON, and validates it.
//
// Reading is strict: unknown and repeated fields, wrong capitals, YAML references
// and tags, NaN, and text in place of numbers are refused. The error joins up to
// twenty *Fault. The line of a syntax error may be the one before.
func Decode(data []byte) (Object, error) {
	objects, err := DecodeAll(data)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%d profiles: want exactly one", len(objects))
	}
	return objects[0], nil
}

// DecodeMachineProfile is Decode for a file that must hold a MachineProfile.
func DecodeMachineProfile(data []byte) (*MachineProfile, error) {
	object, err := Decode(data)
	if err != nil {
		return nil, err
	}
	m, ok := object.(*MachineProfile)
	if !ok {
		return nil, fmt.Errorf("kind %s: want %s", KindOf(object), KindMachineProfile)
	}
	return m, nil
}

// DecodeAll reads a stream of profiles of both kinds: YAML documents separated by
// "---" lines, or lists as kubectl prints them. Empty documents are skipped. It is as
// strict as Decode: it returns all profiles, or none if one is not valid.
func DecodeAll(data []byte) ([]Object, error) {
	if len(data) > MaxStreamBytes {
		// Readers stop there, so the whole size is unknown.
		return nil, fmt.Errorf("more than %d bytes: split it into several files", MaxStreamBytes)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not text in UTF-8: is this a profile?")
	}
	var objects []Object
	var faults []error
	texts, firstLines := splitDocuments(data)
	if len(texts) > MaxDocuments {
		return nil, fmt.Errorf("%d documents: want at most %d", len(texts), MaxDocuments)
	}
	for i, text := range texts {
		found, err := decodeDocument(text, firstLines[i])
		objects = append(objects, found...)
		faults = appendFaults(faults, err)
		if len(faults) > maxReported {
			more := errors.New("and more faults after these")
			return nil, errors.Join(append(faults[:maxReported], more)...)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return objects, nil
}

// appendFaults appends an error, or each of several joined errors.
func appendFaults(faults []error, err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return append(faults, joined.Unwrap()...)
	}
	if err != nil {
		faults = append(faults, err)
	}
	return faults
}

func decodeDocument(text []byte, firstLine int) ([]Object, error) {
	d, err := parseDocument(text, firstLine)
	if d == nil || err != nil {
		return nil, err
	}
	var header struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(d.json, &header); err != nil {
		return nil, d.typeFault(err)
	}
	switch header.Kind {
	case "List", KindApplicationProfile + "List", KindMachineProfile + "List":
	default:
		object, err := d.decodeObject(header.APIVersion, header.Kind)
		if err != nil {
			return nil, err
		}
		return []Object{object}, nil
	}
	var objects []Object
	var faults []error
	for i, item := range header.Items {
		var header struct{ APIVersion, Kind string }
		part := d.at(i, item)
		if err := json.Unmarshal(item, &header); err != nil {
			faults = append(faults, part.typeFault(err))
		} else {
			object, err := part.decodeObject(header.APIVersion, header.Kind)
			faults = appendFaults(faults, err)
			objects = append(objects, object)
		}
		if len(faults) > maxReported {
			break
		}
	}
	return objects, errors.Join(faults...)
}

func (d *document) decodeObject(apiVersion, kind string) (Object, error) {
	if apiVersion != APIVersion {
		return nil, &Fault{d.lineOf("apiVersion"), fmt.Errorf("apiVersion %q: want %s", apiVersion, APIVersion)}
	}
	object := newObject(kind)
	if object == nil {
		return nil, &Fault{d.lineOf("kind"), fmt.Errorf("kind %q: want %s or %s", kind, KindApplicationProfile, KindMachineProfile)}
	}
	faults := d.decode(object)
	if len(faults) == 0 {
		invalid := d.invalid(object)
		for _, fault := range invalid[:min(len(invalid), maxReported+1)] { // one more says that there are more
			faults = append(faults, &Fault{d.lineOf(fault.Field), fault})
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	object.dropSummary()
	return object, nil
}

// decode is strict: it returns every fault of the text, with its line.
func (d *document) decode(into any) (faults []error) {
	strict, err := strictjson.UnmarshalStrict(d.json, into)
	if err != nil {
		// Only the standard library says where.
		if located := json.Unmarshal(d.json, reflect.New(reflect.TypeOf(into).Elem()).Interface()); located != nil {
			err = located
		}
		return []error{d.typeFault(err)}
	}
	for _, fault := range strict {
		line := 0
		if at, ok := fault.(strictjson.FieldError); ok { //nolint:errorlint // never wrapped
			line = d.lineOf(at.FieldPath())
		}
		faults = append(faults, &Fault{line, fault})
	}
	return faults
}

// DecodeInto reads one document of another kind as strictly as Decode, without validating
// it, and returns the line of a field such as nodes[1].machine, 0 where it is not known.
func DecodeInto(data []byte, into any) (lineOf func(field string) int, err error) {
	d, err := parseDocument(data, 1)
	if err != nil {
		return nil, err
	}
	if d == nil { // nothing in it
		return func(string) int { return 0 }, nil
	}
	d.want = wanted(reflect.TypeOf(into).Elem())
	return d.lineOf, errors.Join(d.decode(into)...)
}

// invalid returns the required fields that the text of object lacks, and every fault of
// the others.
func (d *document) invalid(object Object) field.ErrorList {
	var given struct {
		Spec any `json:"spec"`
	}
	if err := json.Unmarshal(d.json, &given); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	f := &faults{}
	spec, _ := reflect.TypeOf(object).Elem().FieldByName("Spec")
	f.present(field.NewPath("spec"), spec.Type, given.Spec)
	missing := map[string]bool{}
	for _, fault := range f.list {
		missing[fault.Field] = true
	}
	for _, fault := range object.Validate() {
		if !within(missing, fault.Field) {
			f.list = append(f.list, fault)
		}
	}
	return f.list
}

// within reports whether a field, or one around it, is in a set.
func within(set map[string]bool, field string) bool {
	for !set[field] {
		end := strings.LastIndexByte(field, '.')
		if end < 0 {
			return false
		}
		field = field[:end]
	}
	return true
}

// typeFault describes a decoding error in terms of the file.
func (d *document) typeFault(err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		if wrong, ok := errors.AsType[*time.ParseError](err); ok {
			return &Fault{d.lineOfText(d.root, wrong.Value), err}
		}
		return &Fault{0, err}
	}
	path := pathAt(d.json, mismatch.Offset)
	if path == "" {
		return &Fault{d.lineOf(""), fmt.Errorf("%s: want %s", mismatch.Value, cmp.Or(d.want, "a profile, with apiVersion, kind, metadata and spec"))}
	}
	return &Fault{d.lineOf(path), fmt.Errorf("%s: %s: want %s", path, mismatch.Value, wanted(mismatch.Type))}
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "text (put it in quotes)"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	default:
		return "fields with names"
	}
}

// pathAt returns the path of the value that ends at or contains an offset of a
// JSON text.
func pathAt(text []byte, offset int64) string {
	type level struct {
		list  bool
		index int
		key   string
		named bool // the key was read, the value comes
	}
	var stack []level
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		top := len(stack) - 1
		delimiter, isDelimiter := token.(json.Delim)
		if closing := isDelimiter && (delimiter == ']' || delimiter == '}'); closing {
			stack = stack[:top]
			top--
		} else if top >= 0 && !stack[top].list && !stack[top].named {
			key, _ := token.(string)
			stack[top].key, stack[top].named = key, true
			continue
		}
		if decoder.InputOffset() >= offset {
			break
		}
		switch {
		case isDelimiter && (delimiter == '[' || delimiter == '{'):
			stack = append(stack, level{list: delimiter == '['})
			continue
		case top >= 0 && stack[top].list:
			stack[top].index++
		case top >= 0:
			stack[top].named = false
		}
	}
	var path strings.Builder
	for i, l := range stack {
		switch {
		case l.list:
			fmt.Fprintf(&path, "[%d]", l.index)
		case i > 0:
			path.WriteString("." + l.key)
		default:
			path.WriteString(l.key)
		}
	}
	return path.String()
}

var lineNumber = regexp.MustCompile(`\bline ([0-9]+)\b`)

// shiftLines turns the lines in a parser's message into lines of the stream.
func shiftLines(err error, firstLine int) error {
	text := lineNumber.ReplaceAllStringFunc(err.Error(), func(match string) string {
		n, convErr := strconv.Atoi(strings.TrimPrefix(match, "line "))
		if convErr != nil {
			return match
		}
		return "line " + strconv.Itoa(n+firstLine-1)
	})
	return &Fault{0, errors.New(text)}
}
