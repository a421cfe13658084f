package predictor

import (
	"bandmate.dev/bandmate/units"
)

// pressureOf sums the contentiousness of applications.
func pressureOf(apps []*Application) units.Traffic {
	var sum units.Traffic
	for _, a := range apps {
		sum = sum.Add(a.corunner)
	}
	return sum
}

func newPrediction(target *Application, corunners []*Application, m Method) Prediction {
	p := Prediction{
		Target:            target.name,
		Corunners:         make([]string, len(corunners)),
		Method:            m,
		Warnings:          []string{},
		CorunnerSlowdowns: make(map[string]units.Slowdown, len(corunners)),
	}
	for i, c := range corunners {
		p.Corunners[i] = c.name
	}
	sum := pressureOf(corunners)
	p.Pressure.BytesPerSecond = sum.Total()
	if share, known := sum.ReadShare(); known {
		p.Pressure.ReadShare = &share
	}
	return p
}

func (p *Prediction) set(performance units.NormalizedPerformance) {
	p.NormalizedPerformance = performance
	p.Slowdown = performance.Slowdown()
}

func (p *Prediction) warn(warnings ...string) { p.Warnings = append(p.Warnings, warnings...) }
