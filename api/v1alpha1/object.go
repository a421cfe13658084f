package v1alpha1

import (
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is a profile of either kind: *ApplicationProfile or *MachineProfile.
//
// +kubebuilder:object:generate=false
type Object interface {
	runtime.Object
	metav1.Object
	// Validate returns every fault of the profile, each with its field path; empty
	// for a valid profile.
	Validate() field.ErrorList
	// dropSummary removes what Encode derives.
	dropSummary()
}

var (
	_ Object = (*ApplicationProfile)(nil)
	_ Object = (*MachineProfile)(nil)
)

// newObject returns an empty profile of a kind, nil for an unknown one.
func newObject(kind string) Object {
	switch kind {
	case KindApplicationProfile:
		return &ApplicationProfile{}
	case KindMachineProfile:
		return &MachineProfile{}
	}
	return nil
}

// KindOf returns the kind of o, also when its TypeMeta is empty as in objects
// from a typed Kubernetes client; empty for an object of another package.
func KindOf(o Object) string {
	switch o.(type) {
	case *ApplicationProfile:
		return KindApplicationProfile
	case *MachineProfile:
		return KindMachineProfile
	}
	return ""
}

// SignificantDigits is the precision of numbers in a file. Measurements repeat to
// three or four digits at best; seven resolve milliseconds in a run of hours.
const SignificantDigits = 7

// roundNumbers rounds every floating-point number below v, which must be
// settable, to SignificantDigits. Applying it twice changes nothing more.
func roundNumbers(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		v.SetFloat(roundNumber(v.Float()))
	case reflect.Pointer:
		if !v.IsNil() {
			roundNumbers(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			roundNumbers(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for _, field := range v.Fields() {
			roundNumbers(field)
		}
	}
}

// roundNumber rounds x to SignificantDigits, and -0 to 0; NaN and infinities stay.
func roundNumber(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', SignificantDigits, 64), 64)
	if err != nil { // beyond the largest float64
		return x
	}
	return rounded + 0
}

// rounded returns a copy of the specification as a file would hold it.
func (s *ApplicationProfileSpec) rounded() *ApplicationProfileSpec {
	c := s.DeepCopy()
	roundNumbers(reflect.ValueOf(c).Elem())
	return c
}

// Rounded returns a copy of p with the numbers that its file would hold.
func (p *ApplicationProfile) Rounded() *ApplicationProfile {
	c := p.DeepCopy()
	roundNumbers(reflect.ValueOf(&c.Spec).Elem())
	return c
}

// rounded returns a copy of the specification as a file would hold it.
func (s *MachineProfileSpec) rounded() *MachineProfileSpec {
	c := s.DeepCopy()
	roundNumbers(reflect.ValueOf(c).Elem())
	return c
}
