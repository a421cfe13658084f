// Package plain writes plain data as bytes and reads them back: structs of numbers, text,
// slices and pointers, with all their fields, exported or not, so that none is forgotten.
// The bytes say nothing of the types: only the program that wrote them may read them.
package plain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// ErrDamaged is returned for bytes that Marshal did not write for this type.
var ErrDamaged = errors.New("not the bytes of this type")

// absent is the length of a nil slice.
const absent = math.MaxUint32

// Marshal returns the value that pointer points to as bytes. It fails on maps,
// interfaces, functions and channels. Pointers must not form a cycle.
func Marshal(pointer any) ([]byte, error) {
	v := reflect.ValueOf(pointer)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, fmt.Errorf("%T: want a pointer", pointer)
	}
	return appendValue(nil, v.Elem())
}

func appendValue(to []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(to, 1), nil
		}
		return append(to, 0), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.LittleEndian.AppendUint64(to, uint64(v.Int())), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.LittleEndian.AppendUint64(to, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return binary.LittleEndian.AppendUint64(to, math.Float64bits(v.Float())), nil
	case reflect.String:
		to = binary.LittleEndian.AppendUint32(to, uint32(v.Len()))
		return append(to, v.String()...), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(to, 0), nil
		}
		return appendValue(append(to, 1), v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return binary.LittleEndian.AppendUint32(to, absent), nil
		}
		to = binary.LittleEndian.AppendUint32(to, uint32(v.Len()))
		return appendAll(to, v.Len(), v.Index)
	case reflect.Array:
		return appendAll(to, v.Len(), v.Index)
	case reflect.Struct:
		return appendAll(to, v.NumField(), v.Field)
	}
	return nil, fmt.Errorf("%s: not plain data", v.Type())
}

func appendAll(to []byte, n int, part func(int) reflect.Value) ([]byte, error) {
	var err error
	for i := 0; i < n && err == nil; i++ {
		to, err = appendValue(to, part(i))
	}
	return to, err
}

// Unmarshal sets the value that pointer points to from the bytes of Marshal. It fails with
// ErrDamaged, and the value is then undefined.
func Unmarshal(data []byte, pointer any) error {
	v := reflect.ValueOf(pointer)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("%T: want a pointer", pointer)
	}
	r := reader{data}
	if err := r.value(v.Elem()); err != nil {
		return fmt.Errorf("%T: %w", pointer, err)
	}
	if len(r.left) > 0 {
		return fmt.Errorf("%T: %w: %d bytes too many", pointer, ErrDamaged, len(r.left))
	}
	return nil
}

// reader takes values off the bytes that are left.
type reader struct{ left []byte }

func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.left) {
		return nil, fmt.Errorf("%w: %d bytes are missing", ErrDamaged, n-len(r.left))
	}
	part := r.left[:n]
	r.left = r.left[n:]
	return part, nil
}

func (r *reader) word() (uint64, error) {
	part, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(part), nil
}

// length returns that of a string or slice, each element of which takes a byte or more.
func (r *reader) length() (n int, isAbsent bool, err error) {
	part, err := r.take(4)
	if err != nil {
		return 0, false, err
	}
	length := binary.LittleEndian.Uint32(part)
	if length == absent {
		return 0, true, nil
	}
	if int64(length) > int64(len(r.left)) {
		return 0, false, fmt.Errorf("%w: a length of %d", ErrDamaged, length)
	}
	return int(length), false, nil
}

func (r *reader) value(v reflect.Value) error {
	if !v.CanSet() { // a field that is not exported, of memory that is ours
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Kind() {
	case reflect.Bool:
		part, err := r.take(1)
		if err == nil {
			v.SetBool(part[0] != 0)
		}
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		word, err := r.word()
		v.SetInt(int64(word))
		return err
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		word, err := r.word()
		v.SetUint(word)
		return err
	case reflect.Float32, reflect.Float64:
		word, err := r.word()
		v.SetFloat(math.Float64frombits(word))
		return err
	case reflect.String:
		n, _, err := r.length()
		if err != nil {
			return err
		}
		part, err := r.take(n)
		v.SetString(string(part))
		return err
	case reflect.Pointer:
		return r.pointer(v)
	case reflect.Slice:
		n, isAbsent, err := r.length()
		if err != nil || isAbsent {
			v.SetZero()
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		return r.all(n, v.Index)
	case reflect.Array:
		return r.all(v.Len(), v.Index)
	case reflect.Struct:
		return r.all(v.NumField(), v.Field)
	}
	return fmt.Errorf("%s: not plain data", v.Type())
}

func (r *reader) pointer(v reflect.Value) error {
	part, err := r.take(1)
	if err != nil {
		return err
	}
	if part[0] == 0 {
		v.SetZero()
		return nil
	}
	v.Set(reflect.New(v.Type().Elem()))
	return r.value(v.Elem())
}

func (r *reader) all(n int, part func(int) reflect.Value) error {
	for i := range n {
		if err := r.value(part(i)); err != nil {
			return err
		}
	}
	return nil
}
