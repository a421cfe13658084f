package modulation

import (
	"errors"
	"fmt"
)

// mostFailures bounds the blocks lost in a row.
const mostFailures = 60

// streak is the blocks that failed in a row.
type streak struct {
	length int
	// cause is what failed last, unless that is an end and something else failed before: a
	// program that is started again and again ends now and then.
	cause error
}

// add counts a failure. It fails when there were too many.
func (s *streak) add(failed error) error {
	if s.length == 0 || !errors.Is(failed, ErrEnded) {
		s.cause = failed
	}
	if s.length++; s.length > mostFailures {
		return fmt.Errorf("%d blocks failed in a row: %w", s.length, s.cause)
	}
	return nil
}
