package ticks

import (
	"errors"
	"os"
	"testing"
)

// scripted yields counts, one after the other.
type scripted struct{ counts []float64 }

func (s *scripted) read() (float64, error) {
	if len(s.counts) == 0 {
		return 0, ErrLost
	}
	n := s.counts[0]
	s.counts = s.counts[1:]
	return n, nil
}

func (*scripted) close() error { return nil }

func TestCounter(t *testing.T) {
	c, err := newCounter("scripted", os.Getpid(), func() (reader, error) {
		return &scripted{counts: []float64{1, 1, 3, 2, 4}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, nil, nil, ErrWentBack, nil, ErrLost} {
		if _, err := c.Read(); !errors.Is(err, want) {
			t.Errorf("reading %d: %v, want %v", i, err, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
