package ticks

import "testing"

func TestNamed(t *testing.T) {
	for _, s := range []Source{Page{}, Instructions{}, IO{BytesRead}, IO{WriteCalls}, Function{Symbol: "0x3a40"}, Function{Library: "libz.so.1", Symbol: "deflate"}} {
		if got, err := Named(s.Name()); err != nil || got != s {
			t.Errorf("%q: %v, %v", s.Name(), got, err)
		}
	}
	for _, name := range []string{"", "function", "function ", "output ^step", "bytes"} {
		if got, err := Named(name); err == nil {
			t.Errorf("%q: %v", name, got)
		}
	}
}
