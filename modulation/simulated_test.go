package modulation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bandmate.dev/bandmate/regime"
)

// phase is a stretch of a simulated program.
type phase struct {
	// solo is how long it takes alone on an undisturbed machine, in seconds.
	solo float64
	// slowdown is that beside working neighbors, and elsewhere that in the other
	// regime of the machine; 0 means the same.
	slowdown, elsewhere float64
	// ticks is the work counted per second of solo time; 0 means 1.
	ticks float64
}

func (f phase) slowdownIn(other bool) float64 {
	if other && f.elsewhere > 0 {
		return f.elsewhere
	}
	return f.slowdown
}

// noise says what a simulated machine does besides running programs.
type noise struct {
	// white is the standard deviation of the logarithm of the speed in a
	// millisecond, of each party.
	white float64
	// drift is the standard deviation of the logarithm of the speed that all
	// parties share. It changes within about a second.
	drift float64
	// spells has the speed of all fall by up to a quarter for 0.05 to 5 s at a
	// time.
	spells bool
	// regimes has the machine change its regime, for 0.05 to 5 s at a time.
	regimes bool
	// flips has it change its regime after so long, on average; 0 for as regimes says.
	flips time.Duration
	// interruptions is how many times per second a party loses its CPU, for 1 to
	// 30 ms, most of them short (Pareto).
	interruptions float64
	// oversleep has sleeps take up to 100 µs longer, and rarely 10 ms.
	oversleep bool
	// latency has switches take effect 50 µs to 1 ms later.
	latency bool
	// refill is the time constant with which caches follow a switch; 0 means
	// a quarter of a millisecond, so that a millisecond is nearly all of it.
	refill time.Duration
}

// everything is a noisy virtual machine.
var everything = noise{
	white: 0.08, drift: 0.05, spells: true, regimes: true, interruptions: 3, oversleep: true, latency: true,
}

// simulation is a machine with its own time, on which parties run. It is a Clock.
type simulation struct {
	noise   noise
	random  *rand.Rand
	now     time.Duration
	parties []*simulated

	drift      float64
	spell      float64
	spellEnds  time.Duration
	other      bool
	regimeEnds time.Duration
	nextWhite  time.Duration
	// probes counts the probes, and atProbe is called before each.
	probes  int
	atProbe func(n int)
}

func newSimulation(seed uint64, n noise) *simulation {
	if n.refill == 0 {
		n.refill = 250 * time.Microsecond
	}
	return &simulation{noise: n, random: rand.New(rand.NewPCG(seed, 1)), spell: 1}
}

// simulated is a program on a simulated machine. It is a Party.
type simulated struct {
	machine *simulation
	phases  []phase
	// grain is the size of the steps of the count, in seconds of solo time.
	grain  float64
	smooth bool
	// endless has the program begin again by itself, with a count that goes on.
	endless bool

	on       bool
	switches time.Duration // when the last Switch takes effect
	was      bool          // what was in effect before
	// position is how far the run is, and before the count of finished rounds.
	position, before float64
	ended            bool
	// pressure and warmth follow the neighbors' and the own switches.
	pressure, warmth float64
	white            float64
	interrupted      time.Duration // until when
	nextInterruption time.Duration
	runs             int
	// readFault and switchFault are what Read and Switch return, and switched
	// counts the switches.
	readFault, switchFault error
	switched               int
	// falls has the count fall with every read.
	falls bool
	fall  float64
}

func (m *simulation) add(p *simulated) *simulated {
	p.machine = m
	if p.grain == 0 {
		p.grain = 1e-6
	}
	m.parties = append(m.parties, p)
	return p
}

// stream is a party that never ends and is read smoothly.
func (m *simulation) stream(slowdown float64) *simulated {
	return m.add(&simulated{phases: []phase{{solo: 1e6, slowdown: slowdown, ticks: 1e9}}, smooth: true, endless: true})
}

func (m *simulation) Now() time.Duration { return m.now }

func (m *simulation) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if m.noise.oversleep {
		d += time.Duration(m.random.Float64() * float64(100*time.Microsecond))
		if m.random.Float64() < 0.002 {
			d += 10 * time.Millisecond
		}
	}
	m.advance(d)
}

// simulationStep is how finely time passes.
const simulationStep = 50 * time.Microsecond

func (m *simulation) advance(d time.Duration) {
	for end := m.now + d; m.now < end; {
		dt := min(simulationStep, end-m.now)
		m.change()
		active := make([]bool, len(m.parties))
		for i, p := range m.parties {
			active[i] = p.active()
		}
		for i, p := range m.parties {
			beside := false
			for j := range active {
				beside = beside || j != i && active[j]
			}
			p.advance(dt.Seconds(), active[i], beside)
		}
		m.now += dt
	}
}

// change has the machine's noise follow its time.
func (m *simulation) change() {
	if m.noise.spells && m.now >= m.spellEnds {
		if m.spell == 1 {
			m.spell = 1 - 0.25*m.random.Float64()
		} else {
			m.spell = 1
		}
		m.spellEnds = m.now + m.spellLength()
	}
	if m.noise.regimes && m.now >= m.regimeEnds {
		m.other = m.regimeEnds > 0 && !m.other
		m.regimeEnds = m.now + m.regimeLength()
	}
	if m.now < m.nextWhite {
		return
	}
	m.nextWhite = m.now + time.Millisecond
	const decay = 0.001 // of a second in a millisecond
	m.drift += -decay*m.drift + math.Sqrt(2*decay)*m.noise.drift*m.random.NormFloat64()
	for _, p := range m.parties {
		p.white = m.noise.white * m.random.NormFloat64()
	}
}

func (m *simulation) regimeLength() time.Duration {
	if m.noise.flips > 0 {
		return time.Duration(m.random.ExpFloat64() * float64(m.noise.flips))
	}
	length := m.spellLength()
	if !m.other {
		length += m.spellLength()
	}
	return length
}

// spellLength is from 0.05 to 5 s, evenly by its logarithm.
func (m *simulation) spellLength() time.Duration {
	return time.Duration(0.05 * math.Pow(100, m.random.Float64()) * float64(time.Second))
}

func (p *simulated) active() bool {
	working := p.on
	if p.machine.now < p.switches {
		working = p.was
	}
	return working && !p.ended && p.machine.now >= p.interrupted
}

// advance lets the program run for dt seconds.
func (p *simulated) advance(dt float64, active, beside bool) {
	m := p.machine
	p.interrupt()
	share := 1 - math.Exp(-dt/m.noise.refill.Seconds())
	p.pressure += share * (indicator(beside) - p.pressure)
	p.warmth += share * (indicator(active) - p.warmth)
	if !active {
		return
	}
	speed := m.spell * math.Exp(m.drift+p.white) * (0.7 + 0.3*p.warmth)
	for dt > 0 && !p.ended {
		f, left := p.phase()
		pace := speed / (1 + p.pressure*(f.slowdownIn(m.other)-1))
		used := min(dt, left/pace)
		p.position += used * pace
		dt -= used
		p.wrap()
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// interrupt draws when the party loses its CPU. Neighbors that never end keep
// theirs: without, they would press less, which is no noise.
func (p *simulated) interrupt() {
	m := p.machine
	if m.noise.interruptions == 0 || p.endless || m.now < p.nextInterruption {
		return
	}
	if p.nextInterruption > 0 {
		const shape = 1.2
		length := math.Min(0.030, 0.001*math.Pow(1-m.random.Float64(), -1/shape))
		p.interrupted = m.now + time.Duration(length*float64(time.Second))
	}
	p.nextInterruption = m.now + time.Duration(m.random.ExpFloat64()/m.noise.interruptions*float64(time.Second)) + 1
}

// phase returns the present phase and how much of it is left.
func (p *simulated) phase() (phase, float64) {
	at := 0.0
	for _, f := range p.phases {
		if at += f.solo; p.position < at-1e-12 {
			return f, at - p.position
		}
	}
	last := p.phases[len(p.phases)-1]
	return last, math.Max(at-p.position, 1e-12)
}

func (p *simulated) length() float64 {
	sum := 0.0
	for _, f := range p.phases {
		sum += f.solo
	}
	return sum
}

// wrap ends the run, or begins the next round, when the last phase is over.
func (p *simulated) wrap() {
	if p.position < p.length()-1e-12 {
		return
	}
	p.runs++
	if !p.endless {
		p.ended = true
		return
	}
	p.before += p.ticks(p.length())
	p.position = 0
}

// ticks returns the count at a position of a round.
func (p *simulated) ticks(position float64) float64 {
	sum, at := 0.0, 0.0
	for _, f := range p.phases {
		rate := f.ticks
		if rate == 0 {
			rate = 1
		}
		sum += rate * max(0, min(position-at, f.solo))
		at += f.solo
	}
	return sum
}

func (p *simulated) Switch(on bool) error {
	m := p.machine
	m.advance(2 * time.Microsecond)
	p.switched++
	if p.switchFault != nil {
		return p.switchFault
	}
	if on == p.on {
		return nil
	}
	p.was, p.on, p.switches = p.on, on, m.now
	if m.noise.latency {
		p.switches += time.Duration((0.05 + 0.95*m.random.Float64()) * float64(time.Millisecond))
	}
	return nil
}

func (p *simulated) Read() (float64, time.Duration, error) {
	m := p.machine
	m.advance(time.Duration(2+m.random.IntN(14)) * time.Microsecond)
	if p.readFault != nil {
		return 0, 0, p.readFault
	}
	if p.ended {
		return 0, 0, fmt.Errorf("simulated: %w", ErrEnded)
	}
	position := math.Floor(p.position/p.grain) * p.grain
	if p.falls {
		p.fall++
	}
	return p.before + p.ticks(position) - p.fall, m.now, nil
}

func (p *simulated) Smooth() bool { return p.smooth }

// restart begins another run of a program that has ended.
func (p *simulated) restart() {
	p.position, p.ended, p.on, p.was = 0, false, false, false
}

// performance returns the truth: the time of a whole run alone ÷ beside.
func (p *simulated) performance(other bool) float64 {
	alone, beside := 0.0, 0.0
	for _, f := range p.phases {
		alone += f.solo
		beside += f.solo * f.slowdownIn(other)
	}
	return alone / beside
}

// The regimes of a simulated machine.
const (
	usual   = regime.CrossComplex
	unusual = regime.SameComplex
)

func (m *simulation) probe(ctx context.Context) (regime.Tag, error) {
	if m.atProbe != nil {
		m.atProbe(m.probes)
	}
	m.probes++
	m.advance(2 * time.Millisecond)
	if m.other {
		return regime.Tag{Class: unusual, RoundTrip: 70}, ctx.Err()
	}
	return regime.Tag{Class: usual, RoundTrip: 320}, ctx.Err()
}

// again starts the programs that have ended.
func (m *simulation) again(context.Context) error {
	for _, p := range m.parties {
		if p.ended {
			p.restart()
			m.advance(20 * time.Millisecond)
		}
	}
	return nil
}

// working reports whether any party has been left working.
func (m *simulation) working() bool {
	for _, p := range m.parties {
		if p.on && !p.ended {
			return true
		}
	}
	return false
}

// plan compares party 0 beside the others with itself alone.
func (m *simulation) plan(slicing Slicing) *Plan {
	bench := &Bench{Clock: m, Random: m.random, Slicing: slicing}
	all := State(0)
	for i, p := range m.parties {
		bench.Parties = append(bench.Parties, p)
		all |= 1 << i
	}
	return &Plan{
		Bench: bench, Probe: m.probe, Again: m.again,
		Points: []Point{{States: []State{1, all}, Compare: []Comparison{{Name: "beside", On: 1, Off: 0}}}},
	}
}
