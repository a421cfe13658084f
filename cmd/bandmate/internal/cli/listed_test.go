package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// TestListedDate: what is listed is kept beside the profiles, whatever the time zone is the
// next time.
func TestListedDate(t *testing.T) {
	p := &v1alpha1.ApplicationProfile{}
	p.Spec.Measurement.Time = metav1.NewTime(time.Date(2026, 11, 21, 1, 16, 38, 0, time.FixedZone("", 14*60*60)))
	if got := ListedOf(p).Measured; got != "2026-11-20" {
		t.Errorf("measured %s, want 2026-11-20", got)
	}
}
