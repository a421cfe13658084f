package store

import (
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// IndexAt is Store.Index at the time of a clock.
func IndexAt(s *Store, kept Kept, summarize func(*v1alpha1.ApplicationProfile) []byte, clock func() time.Time) (*Index, error) {
	return s.index(kept, summarize, clock)
}
