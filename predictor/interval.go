package predictor

import (
	"bandmate.dev/bandmate/units"
)

// doubt is the parts of the standard deviation of a predicted normalized
// performance.
type doubt struct {
	model float64
}

func (r *answer) doubt(target *Application, corunners []*Application, m paperMethod) doubt {
	return doubt{}
}

func (p *Prediction) interval(d doubt) Interval {
	half := units.NormalizedPerformance(0.03)
	return Interval{
		Low:  max(1, min(p.NormalizedPerformance+half, 1).Slowdown()),
		High: max(p.NormalizedPerformance-half, 0.01).Slowdown(),
	}
}
