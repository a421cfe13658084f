package main

import (
	"errors"
	"strings"
	"testing"
)

func TestRunAll(t *testing.T) {
	passing := check{"passes", func() error { return nil }}
	failing := check{"breaks", func() error { return errors.New("first\nsecond") }}
	for _, tt := range []struct {
		checks []check
		failed int
		last   string
	}{
		{[]check{passing, failing, passing}, 1, "2 passed, 1 failed\n"},
		{[]check{passing}, 0, "1 passed, 0 failed\n"},
		{nil, 1, "0 passed, 0 failed\n"},
	} {
		var out strings.Builder
		if got := runAll(&out, tt.checks); got != tt.failed || !strings.HasSuffix(out.String(), tt.last) {
			t.Errorf("%d failed, want %d; printed %q", got, tt.failed, out.String())
		}
	}
}

func TestExpectation(t *testing.T) {
	want := expectation{nodes: map[int]traffic{0: {1e8, 5e7}}}
	good := func() summary {
		read, write, share := 6.4e9, 3.2e9, 2.0/3
		s := summary{ReadBytesPerSecond: &read, WriteBytesPerSecond: &write, ReadShare: &share}
		s.PerNode = append(s.PerNode, struct {
			Node                                    int
			ReadBytesPerSecond, WriteBytesPerSecond float64
		}{0, read, write})
		return s
	}
	if err := want.of(good()); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*summary){
		"no bandwidth":     func(s *summary) { s.ReadBytesPerSecond = nil },
		"0.2% too much":    func(s *summary) { *s.ReadBytesPerSecond *= 1.002 },
		"wrong on a node":  func(s *summary) { s.PerNode[0].WriteBytesPerSecond *= 2 },
		"another node":     func(s *summary) { s.PerNode[0].Node = 1 },
		"a node missing":   func(s *summary) { s.PerNode = nil },
		"no read share":    func(s *summary) { s.ReadShare = nil },
		"wrong read share": func(s *summary) { *s.ReadShare = 0.6 },
	} {
		s := good()
		spoil(&s)
		if want.of(s) == nil {
			t.Errorf("%s: no fault found", name)
		}
	}
	want.totalOnly = true
	if want.of(good()) == nil {
		t.Error("a read share of a total: no fault found")
	}
	want.totalOnly, want.warning = false, "scale"
	if want.of(good()) == nil {
		t.Error("a warning that was not given: no fault found")
	}
}

func TestChoose(t *testing.T) {
	all := []check{{name: "one box"}, {name: "two boxes"}}
	if got := choose(all, []string{"two", "three"}); len(got) != 1 || got[0].name != "two boxes" {
		t.Errorf("chose %v", got)
	}
}
