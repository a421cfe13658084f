package service

import (
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// At returns the profile that a service has at a load, in requests per second: its
// curves at that load, and the traffic it causes alone while it is as busy as at the
// load busy. Beside neighbors that stretch it by s, busy is s·load: a service needs more
// CPU time for the same requests. It returns p itself where p is not of a service.
//
// Between measured loads, performance and traffic are interpolated linearly. Outside
// them performance is held, and traffic is proportional to the load up to saturation.
func At(p *v1alpha1.ApplicationProfile, load, busy float64) *v1alpha1.ApplicationProfile {
	s := p.Spec.Service
	if s == nil || len(s.Factors) == 0 {
		return p
	}
	at := *p
	low, high, weight := between(s, load)
	at.Spec.Curves = mix(low.Curves, high.Curves, weight)
	at.Spec.Contentiousness.ReadBytesPerSecond, at.Spec.Contentiousness.WriteBytesPerSecond = traffic(s, min(busy, s.SaturationRequestsPerSecond))
	at.Spec.Contentiousness.Timeline, at.Spec.Phases = nil, nil
	at.Spec.Service = nil
	return &at
}

// between returns the factors around a load, and the weight of the higher ones.
func between(s *v1alpha1.Service, load float64) (low, high *v1alpha1.ServiceFactors, weight float64) {
	i := slices.IndexFunc(s.Factors, func(f v1alpha1.ServiceFactors) bool { return f.RequestsPerSecond > load })
	switch i {
	case 0:
		return &s.Factors[0], &s.Factors[0], 0
	case -1:
		last := &s.Factors[len(s.Factors)-1]
		return last, last, 0
	}
	low, high = &s.Factors[i-1], &s.Factors[i]
	return low, high, (load - low.RequestsPerSecond) / (high.RequestsPerSecond - low.RequestsPerSecond)
}

// traffic returns the traffic at a load, in bytes per second.
func traffic(s *v1alpha1.Service, load float64) (read, write float64) {
	low, high, weight := between(s, load)
	read = low.ReadBytesPerSecond + weight*(high.ReadBytesPerSecond-low.ReadBytesPerSecond)
	write = low.WriteBytesPerSecond + weight*(high.WriteBytesPerSecond-low.WriteBytesPerSecond)
	if low == high {
		scale := load / low.RequestsPerSecond
		read, write = read*scale, write*scale
	}
	if read+write < v1alpha1.MinBytesPerSecond {
		return 0, 0
	}
	return read, write
}

// mix interpolates between the curves of two loads, whose points are of the same
// pressures.
func mix(low, high []v1alpha1.SensitivityCurve, weight float64) []v1alpha1.SensitivityCurve {
	if weight == 0 {
		return low
	}
	linear := func(a, b float64) float64 { return a + weight*(b-a) }
	mixed := make([]v1alpha1.SensitivityCurve, len(low))
	for i, c := range low {
		mixed[i] = c
		mixed[i].Points = slices.Clone(c.Points)
		j := slices.IndexFunc(high, func(o v1alpha1.SensitivityCurve) bool { return o.ReadShare == c.ReadShare && o.Pattern == c.Pattern })
		if j < 0 {
			continue
		}
		for k := range mixed[i].Points {
			point := &mixed[i].Points[k]
			l := slices.IndexFunc(high[j].Points, func(o v1alpha1.CurvePoint) bool { return o.Level == point.Level })
			if l < 0 {
				continue
			}
			other := high[j].Points[l]
			point.NormalizedPerformance = linear(point.NormalizedPerformance, other.NormalizedPerformance)
			point.InterfererBytesPerSecond = linear(point.InterfererBytesPerSecond, other.InterfererBytesPerSecond)
			point.AchievedBytesPerSecond = both(point.AchievedBytesPerSecond, other.AchievedBytesPerSecond, linear)
			point.Spread = both(point.Spread, other.Spread, linear)
			point.Repeats = min(point.Repeats, other.Repeats)
		}
	}
	return mixed
}

// both interpolates between two values; nil where one is missing.
func both(a, b *float64, linear func(a, b float64) float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	v := linear(*a, *b)
	return &v
}
