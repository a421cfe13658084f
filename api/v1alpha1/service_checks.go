package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (l *ServiceLoad) check(f *faults, p *field.Path) {
	at := []float64{l.P50Seconds, l.P90Seconds, l.P99Seconds, l.P999Seconds}
	if !slices.IsSorted(at) {
		f.invalid(p.Child("p99Seconds"), l.P99Seconds, fmt.Sprintf("want quantiles that ascend: p50, p90, p99 and p99.9 are %v", at))
	}
}

func (s *ServiceFactors) check(f *faults, p *field.Path) {
	if total := s.ReadBytesPerSecond + s.WriteBytesPerSecond; total > 0 && total < MinBytesPerSecond {
		f.invalid(p.Child("readBytesPerSecond"), total, "want reads and writes in bytes per second, together 0 or at least 1e3 (is this in GB/s?)")
	}
}

func (s *Service) check(f *faults, p *field.Path) {
	first, of := map[string]bool{}, ""
	for i, factors := range s.Factors {
		found := map[string]bool{}
		for _, c := range factors.Curves {
			for _, point := range c.Points {
				key := fmt.Sprintf("%s, level %v", c.key(), point.Level)
				found[key] = true
				if i > 0 && !first[key] {
					of = key
				}
			}
		}
		if i == 0 {
			first = found
		} else if of != "" || len(found) != len(first) {
			f.invalid(p.Child("factors").Index(i).Child("curves"), of, "want the read shares, patterns and levels of the first entry")
		}
	}
	if s.SaturationAtLeast || !numberRules["requests"].holds(s.SaturationRequestsPerSecond) {
		return
	}
	// The rate at the end of a sweep may lie a little above what was reached another time.
	const noise = 1.2
	for i, l := range s.Loads {
		if saturation := s.SaturationRequestsPerSecond; l.RequestsPerSecond > noise*saturation {
			f.invalid(p.Child("loads").Index(i).Child("requestsPerSecond"), l.RequestsPerSecond, fmt.Sprintf("want at most saturationRequestsPerSecond, %v", saturation))
		}
	}
}
