package profiler

import (
	"math"
	"math/rand/v2"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
)

// contention is an analytic machine: two streams share a capacity that depends
// on the read share of the pressure, max-min fairly, with a soft knee and a
// latency that grows with traffic. It knows nothing of how Map interpolates.
type contention struct {
	// noise is the standard deviation of one measured relative speed.
	noise float64
	// common is true where the traffic of applications is as different in magnitude as that
	// of programs people run: from 0.2% of the sustained bandwidth to all of it.
	common bool
	rng    *rand.Rand
}

func newContention(noise float64, seed uint64) *contention {
	return &contention{noise: noise, rng: rand.New(rand.NewPCG(seed, 1))}
}

// sustained is what the interferer reaches alone.
func (c *contention) sustained(share float64) float64 { return 1e9 * (77 - 34*share) }

func (c *contention) capacity(share float64) float64 { return 1e9 * (90 - 40*share) }

// ceiling is what the interferer reaches beside an unpaced probe.
func (c *contention) ceiling(share float64) float64 { return 0.55 * c.capacity(share) }

// softMin is a smooth minimum.
func softMin(a, b float64) float64 { return math.Pow(math.Pow(a, -8)+math.Pow(b, -8), -1.0/8) }

// speed is what a probe keeps beside achieved bytes per second, without noise.
func (c *contention) speed(probe string, achieved, share float64) float64 {
	demand := map[string]float64{Reader: 43e9, Modifier: 60e9}[probe]
	left := max(c.capacity(share)-achieved, 1e9)
	return softMin(1, left/demand) * (1 - 0.2*achieved/c.capacity(share)) / softMin(1, c.capacity(share)/demand)
}

func (c *contention) noisy(value float64, repeats int) float64 {
	return max(value+c.rng.NormFloat64()*c.noise/math.Sqrt(float64(repeats)), 0.01)
}

// calibrate measures a map at the grid's points.
func (c *contention) calibrate(grid []GridPoint) ([]v1alpha1.ProbePoint, []v1alpha1.SustainedBandwidth) {
	var points []v1alpha1.ProbePoint
	var sustained []v1alpha1.SustainedBandwidth
	for _, g := range grid {
		share := float64(g.ReadShare)
		if g.Level == 1 {
			sustained = append(sustained, v1alpha1.SustainedBandwidth{ReadShare: share, BytesPerSecond: c.sustained(share), Repeats: 1})
		}
		for _, probe := range Probes() {
			solo := g.Level * c.sustained(share)
			achieved := softMin(solo, c.ceiling(share))
			points = append(points, v1alpha1.ProbePoint{
				Probe: probe, ReadShare: share, Level: g.Level,
				InterfererBytesPerSecond: solo,
				AchievedBytesPerSecond:   achieved,
				RelativeSpeed:            c.noisy(c.speed(probe, achieved, share), g.Repeats),
				Spread:                   new(c.noise),
				Repeats:                  g.Repeats,
			})
		}
	}
	return points, sustained
}

// application draws one of uniformly distributed traffic, or of common traffic, and
// returns readings beside both probes.
func (c *contention) application() (bandwidth, share float64, readings []ProbeReading) {
	share = 0.5 + 0.5*c.rng.Float64()
	part := c.rng.Float64()
	if c.common {
		part = math.Pow(0.002, part)
	}
	bandwidth = part * c.sustained(share)
	for _, probe := range Probes() {
		// An application gives way at least as much as the interferer does, or
		// more when it waits for each access.
		performance := softMin(bandwidth, c.ceiling(share)) / bandwidth * (0.6 + 0.4*c.rng.Float64())
		readings = append(readings, ProbeReading{
			Probe:                  probe,
			RelativeSpeed:          c.noisy(c.speed(probe, bandwidth*performance, share), 1),
			Spread:                 new(c.noise),
			ApplicationPerformance: new(performance * (1 + 0.01*c.rng.NormFloat64())),
		})
	}
	return bandwidth, share, readings
}

// recovery is how well traffic was inferred over many applications.
type recovery struct {
	// bandwidth is the root mean square error of the total ÷ the sustained
	// bandwidth; share that of the read share, of applications above a third of
	// it; covered the part of the 90% intervals that held the true total.
	bandwidth, share, covered float64
	// weak is the median relative uncertainty of applications of 7 to 13% of the
	// sustained bandwidth.
	weak float64
	// quiet is the mean estimate ÷ the mean traffic of applications below 3% of the
	// sustained bandwidth.
	quiet float64
}

func (c *contention) recover(grid []GridPoint, maps, applications int) (recovery, error) {
	var r recovery
	var strong, quiet, quietEstimate float64
	var weak []float64
	n := float64(maps * applications)
	for range maps {
		m, err := NewMap(c.calibrate(grid))
		if err != nil {
			return r, err
		}
		for range applications {
			bandwidth, share, readings := c.application()
			e, err := m.Infer(readings)
			if err != nil {
				return r, err
			}
			r.bandwidth += math.Pow((float64(e.Traffic.Total())-bandwidth)/c.sustained(share), 2) / n
			if got, _ := e.Traffic.ReadShare(); bandwidth > c.sustained(share)/3 {
				strong++
				r.share += math.Pow(float64(got)-share, 2)
			}
			if part := bandwidth / c.sustained(share); part > 0.07 && part < 0.13 {
				weak = append(weak, e.RelativeUncertainty)
			}
			if bandwidth < 0.03*c.sustained(share) {
				quiet += bandwidth
				quietEstimate += float64(e.Traffic.Total())
			}
			if bandwidth >= float64(e.Low) && bandwidth <= float64(e.High) {
				r.covered += 1 / n
			}
		}
	}
	r.bandwidth, r.share = math.Sqrt(r.bandwidth), math.Sqrt(r.share/strong)
	r.weak, r.quiet = stats.Median(weak), quietEstimate/quiet
	return r, nil
}
