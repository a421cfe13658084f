package v1alpha1

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns every fault of p at once, each with its field path, the bad
// value and what is wanted; empty for a sound profile. Numbers are judged at
// SignificantDigits, as a file holds them. An empty apiVersion and kind are
// accepted: the Go type says them.
func (p *ApplicationProfile) Validate() field.ErrorList {
	return validate(p.TypeMeta, &p.ObjectMeta, KindApplicationProfile, p.Spec.rounded())
}

// Validate is like that of ApplicationProfile.
func (m *MachineProfile) Validate() field.ErrorList {
	return validate(m.TypeMeta, &m.ObjectMeta, KindMachineProfile, m.Spec.rounded())
}

func validate(t metav1.TypeMeta, m *metav1.ObjectMeta, kind string, spec any) field.ErrorList {
	f := &faults{}
	if t.APIVersion != "" {
		f.text(field.NewPath("apiVersion"), t.APIVersion, APIVersion+"|")
	}
	if t.Kind != "" {
		f.text(field.NewPath("kind"), t.Kind, kind+"|")
	}
	path := field.NewPath("metadata")
	f.list = append(f.list, apivalidation.ValidateObjectMeta(m, m.Namespace != "", apivalidation.NameIsDNSSubdomain, path)...)
	for key, value := range m.Annotations {
		f.printable(path.Child("annotations").Key(key), value, len(value), "\n\t")
	}
	f.value(field.NewPath("spec"), reflect.ValueOf(spec), "", "")
	return f.list
}

// faults collects what is wrong with a profile.
type faults struct{ list field.ErrorList }

func (f *faults) invalid(p *field.Path, value any, want string) {
	f.list = append(f.list, field.Invalid(p, value, want))
}

func (f *faults) required(p *field.Path, want string) {
	f.list = append(f.list, field.Required(p, want))
}

// checker is a type with rules that concern several of its fields. Rules of one
// field are in its tags: want names one of rules.go, "ascending" and "unique"
// compare a field with that of the entries before, and len has the fewest and the
// most entries of a list.
type checker interface {
	check(f *faults, p *field.Path)
}

// keyed is an entry of a list that no other entry may equal in its key.
type keyed interface{ key() string }

// value applies the rules in the tags of v and of everything below it.
func (f *faults) value(p *field.Path, v reflect.Value, want, length string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.value(p, v.Elem(), want, length)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for structField, value := range v.Fields() {
			name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
			want, _, _ := strings.Cut(structField.Tag.Get("want"), ",")
			f.value(p.Child(name), value, want, structField.Tag.Get("len"))
		}
		if c, ok := reflect.TypeAssert[checker](v.Addr()); ok {
			c.check(f, p)
		}
	case reflect.Slice:
		f.entries(p, v, want, length)
	case reflect.String:
		f.text(p, v.String(), want)
	case reflect.Int, reflect.Int64:
		f.number(p, float64(v.Int()), v.Interface(), numberRules[want])
	case reflect.Float64:
		f.number(p, v.Float(), v.Float(), numberRules[want])
	}
}

// present requires every field that JSON may not leave out in v, the decoded text of a
// value of type of. Without it, a number that is missing would count as 0.
func (f *faults) present(p *field.Path, of reflect.Type, v any) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of.Kind() == reflect.Slice:
		entries, _ := v.([]any)
		for i, entry := range entries {
			if entry == nil {
				f.required(p.Index(i), "")
			} else {
				f.present(p.Index(i), of.Elem(), entry)
			}
		}
	case of.Kind() == reflect.Struct && of != reflect.TypeFor[metav1.Time]():
		given, _ := v.(map[string]any)
		for structField := range of.Fields() {
			name, options, _ := strings.Cut(structField.Tag.Get("json"), ",")
			if given[name] != nil {
				f.present(p.Child(name), structField.Type, given[name])
			} else if !strings.Contains(options, "omit") {
				f.required(p.Child(name), "")
			}
		}
	}
}

// entries applies the rules of a list. Lists that are too long are not looked at.
func (f *faults) entries(p *field.Path, v reflect.Value, want, length string) {
	low, high, _ := strings.Cut(length, ",")
	least, _ := strconv.Atoi(low)
	most, _ := strconv.Atoi(high)
	switch {
	case v.Len() < least:
		f.required(p, fmt.Sprintf("want %d or more entries", least))
	case v.Len() > most:
		f.list = append(f.list, field.TooMany(p, v.Len(), most))
		return
	}
	keys := map[string]bool{}
	for i := range v.Len() {
		entry, at := v.Index(i), p.Index(i)
		f.value(at, entry, want, "")
		if k, ok := reflect.TypeAssert[keyed](entry); ok {
			if key := k.key(); keys[key] {
				f.list = append(f.list, field.Duplicate(at, key))
			} else {
				keys[key] = true
			}
		}
	}
	if entry := v.Type().Elem(); entry.Kind() == reflect.Struct {
		for of := range entry.Fields() {
			f.order(p, v, of)
		}
	}
}

// order applies "ascending" and "unique" to one field of the entries of a list.
func (f *faults) order(p *field.Path, list reflect.Value, of reflect.StructField) {
	_, order, _ := strings.Cut(of.Tag.Get("want"), ",")
	if order == "" {
		return
	}
	name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
	seen := map[any]bool{}
	var last float64
	for i := range list.Len() {
		at, v := p.Index(i).Child(name), list.Index(i).FieldByIndex(of.Index)
		number := v.Convert(reflect.TypeFor[float64]()).Float()
		switch {
		case order == "unique" && seen[number]:
			f.list = append(f.list, field.Duplicate(at, number))
		case order == "ascending" && i > 0 && number <= last:
			f.invalid(at, v.Interface(), fmt.Sprintf("want more than the previous %v: entries ascend", last))
		}
		seen[number], last = true, max(last, number)
	}
}
