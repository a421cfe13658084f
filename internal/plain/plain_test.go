package plain

import (
	"errors"
	"math"
	"reflect"
	"testing"
)

type inner struct {
	share float64
	name  string
}

type outer struct {
	inner

	Number  int32
	small   float32
	flags   [3]bool
	list    []inner
	empty   []uint16
	nothing []float64
	next    *outer
}

func filled() *outer {
	return &outer{
		inner: inner{0.1 + 0.2, "naïve"}, Number: -7, small: 1.5, flags: [3]bool{true, false, true},
		list: []inner{{math.Inf(1), ""}, {math.Copysign(0, -1), "x"}}, empty: []uint16{},
		next: &outer{Number: 3},
	}
}

func TestRoundTrip(t *testing.T) {
	want := filled()
	data, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &outer{Number: 99, nothing: []float64{1}}
	if err := Unmarshal(data, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if math.Signbit(got.list[1].share) != true {
		t.Error("a negative zero lost its sign")
	}
}

func TestRefusesOtherData(t *testing.T) {
	for _, v := range []any{&struct{ m map[string]int }{}, &struct{ f func() }{}, &struct{ i any }{}, &[]chan int{nil}, 7, (*int)(nil)} {
		if _, err := Marshal(v); err == nil {
			t.Errorf("%T: no error", v)
		}
	}
}

// Bytes that were cut, changed or added to are refused or read as other values, without
// more memory than they could fill.
func FuzzUnmarshal(f *testing.F) {
	data, err := Marshal(filled())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(append([]byte{}, 0xfe, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v outer
		if err := Unmarshal(data, &v); err != nil {
			return
		}
		again, err := Marshal(&v)
		if err != nil {
			t.Fatal(err)
		}
		var w outer
		if err := Unmarshal(again, &w); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDamaged(t *testing.T) {
	data, err := Marshal(filled())
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if err := Unmarshal(data[:n], &outer{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(data), err)
		}
	}
	if err := Unmarshal(append(data, 0), &outer{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
}
