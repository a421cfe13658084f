package report

import (
	"fmt"
	"math"
	"math/rand/v2"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// MakeMeasured makes n profiles as if they were measured beside one memory with a
// queue, so that the model of the memory describes most of them: applications
// that wait for their requests to different degrees, with and without phases.
// Among every ten are one with curves that no memory explains, one without
// curves, one that was measured beside two interferers, too, and one that was
// transferred from elsewhere. From n = 10 on some
// are of another machine. The same seed gives the same profiles.
func MakeMeasured(n int, seed uint64) []*v1alpha1.ApplicationProfile {
	random := rand.New(rand.NewPCG(seed, 2))
	profiles := make([]*v1alpha1.ApplicationProfile, n)
	for i := range profiles {
		p := makeMeasured(random, fmt.Sprintf("measured-%04d", i))
		switch i % 10 {
		case 3:
			if i%20 == 3 { // else it is described
				odd := &p.Spec.Curves[0].Points[0]
				odd.NormalizedPerformance = rounded(0.2 + 0.1*random.Float64())
			}
		case 5:
			p.Spec.Curves = nil
		case 7:
			twice(random, p)
		case 8:
			p.Spec.Transferred = &v1alpha1.Transfer{FromMachine: "elsewhere", Method: v1alpha1.TransferredBySustained, LossUncertainty: 0.05}
		}
		if n >= 10 && i%5 == 4 {
			p.Spec.Machine.Name = "second"
		}
		profiles[i] = p
	}
	return profiles
}

// MakeCommunicating is MakeMeasured, and half of the applications exchange data
// with other nodes: in one direction or both, waiting or not, measured with it or
// without.
func MakeCommunicating(n int, seed uint64) []*v1alpha1.ApplicationProfile {
	random := rand.New(rand.NewPCG(seed, 4))
	profiles := MakeMeasured(n, seed)
	for _, p := range profiles {
		if random.IntN(2) == 0 {
			continue
		}
		c := &v1alpha1.Communication{Source: v1alpha1.CommunicationDeclared, Apart: random.IntN(2) == 0}
		if random.IntN(4) > 0 {
			c.SentBytesPerSecond = new(rounded(0.9e9 * random.Float64()))
		}
		if c.SentBytesPerSecond == nil || random.IntN(2) == 0 {
			c.ReceivedBytesPerSecond = new(rounded(0.9e9 * random.Float64()))
		}
		if random.IntN(3) > 0 {
			c.Overlapped = new(random.IntN(2) == 0)
		}
		if random.IntN(2) == 0 {
			c.MessageBytes = new(int64(1 << (10 + random.IntN(10))))
		}
		p.Spec.Communication = c
	}
	return profiles
}

// Capacity of the made memory, and what its interferer sustains, in bytes per
// second.
const (
	madeCapacity  = 60e9
	madeSustained = 42e9
)

// madeDelay is the delay of a request at a load.
func madeDelay(load float64) float64 {
	load = min(load, 0.999)
	return 1 + 0.6*load + 0.2*load/(1-load)
}

// madeLoop asks for its rate alone where the delay is that of its own load, and
// for less where it is longer; waits is the part of its time that it waits.
type madeLoop struct{ rate, waits float64 }

func (l madeLoop) at(delay float64) float64 {
	alone := madeDelay(l.rate / madeCapacity)
	return l.rate / (1 + l.waits*max(delay/alone-1, 0))
}

// madeDelayOf returns the delay at which both ask for what the memory carries.
func madeDelayOf(a, b madeLoop) float64 {
	low, high := 0.0, 0.999
	for range 60 {
		load := (low + high) / 2
		delay := madeDelay(load)
		if (a.at(delay)+b.at(delay))/madeCapacity > load {
			low = load
		} else {
			high = load
		}
	}
	return madeDelay(high)
}

func makeMeasured(random *rand.Rand, name string) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindApplicationProfile, name
	p.Spec.Command = []string{name}
	p.Spec.Machine.Name = madeMachine
	p.Spec.Solo = v1alpha1.Timing{Seconds: rounded(1 + 9*random.Float64()), Repeats: 5}
	share := 0.5 + 0.5*random.Float64()
	own := madeLoop{rate: 35e9*math.Pow(random.Float64(), 2) + 2e8, waits: 0.1 + 0.9*random.Float64()}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond: rounded(own.rate * share), WriteBytesPerSecond: rounded(own.rate * (1 - share)), Source: "imc",
	}
	for _, readShare := range [][]float64{{0.5, 1}, {0.5, 0.75, 1}}[random.IntN(2)] {
		p.Spec.Curves = append(p.Spec.Curves, v1alpha1.SensitivityCurve{ReadShare: readShare})
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			addPoint(random, p, own, level)
		}
	}
	if random.IntN(2) == 0 {
		heavy := 1.2 + 0.8*random.Float64()
		light := (1 - 0.4*heavy) / 0.6
		phases := [][2]float64{{0.4, heavy}, {0.6, light}}
		if random.IntN(2) == 0 {
			phases = [][2]float64{{0.4, heavy}, {0.3, 0.5 * light}, {0.3, 1.5 * light}}
		}
		for _, phase := range phases {
			p.Spec.Phases = append(p.Spec.Phases, v1alpha1.Phase{
				TimeShare: phase[0], ReadBytesPerSecond: rounded(own.rate * share * phase[1]), WriteBytesPerSecond: rounded(own.rate * (1 - share) * phase[1]),
			})
		}
	}
	return p
}

// twice adds points beside two interferers.
func twice(random *rand.Rand, p *v1alpha1.ApplicationProfile) {
	c := &p.Spec.Contentiousness
	own := madeLoop{rate: c.ReadBytesPerSecond + c.WriteBytesPerSecond, waits: 0.5}
	curves := p.Spec.Curves
	p.Spec.Curves = nil
	for _, curve := range curves {
		p.Spec.Curves = append(p.Spec.Curves, v1alpha1.SensitivityCurve{ReadShare: curve.ReadShare})
		for _, level := range []float64{0.5, 1, 1.5} {
			addPoint(random, p, own, level)
		}
	}
}

// addPoint measures the last curve of p at a level.
func addPoint(random *rand.Rand, p *v1alpha1.ApplicationProfile, own madeLoop, level float64) {
	curve := &p.Spec.Curves[len(p.Spec.Curves)-1]
	pressing := madeLoop{rate: level * madeSustained * (0.9 + 0.1*curve.ReadShare), waits: 0.4}
	delay := madeDelayOf(own, pressing)
	achieved, spread := rounded(pressing.at(delay)), 0.004
	curve.Points = append(curve.Points, v1alpha1.CurvePoint{
		Level: level, InterfererBytesPerSecond: rounded(pressing.rate), AchievedBytesPerSecond: &achieved, Repeats: 3, Spread: &spread,
		NormalizedPerformance: rounded(min(own.at(delay)/own.rate, 1) * (1 + 0.004*random.NormFloat64())),
	})
}
