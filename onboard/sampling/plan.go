package sampling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// Condition is a target beside something, measured repeatedly.
type Condition struct {
	// Target names the application whose time counts.
	Target string
	// Beside says what runs beside it; empty is the solo control.
	Beside string
	// Run makes one sample.
	Run func(context.Context) (Observation, error)
	// Needed reports whether the condition is wanted in a regime; nil means in
	// every regime. A plan waits while the regime is one that no condition wants.
	Needed func(regime.Class) bool
}

// Key identifies a condition within a plan.
type Key struct{ Target, Beside string }

// Key returns what identifies the condition.
func (c Condition) Key() Key { return Key{c.Target, c.Beside} }

// Observation is the result of one run of a condition.
type Observation struct {
	// Wall is the target's time.
	Wall time.Duration
	// Pressed is the part of Wall during which the interferer pressed; 0 means
	// all of it.
	Pressed time.Duration
	// Achieved is the interferer's traffic while it pressed; zero without one.
	Achieved interferer.Achieved
	// Alone is the traffic of an unpaced interferer alone just before and after;
	// zero when not read.
	Alone units.Traffic
}

// Sample is a kept observation.
type Sample struct {
	Key
	Tag   regime.Tag
	Spell int
	Start time.Time
	Observation
}

// Precision says how often a condition is repeated.
type Precision struct {
	// HalfWidth is the half width wanted for the 90% interval of the median
	// normalized performance; 0 means 0.01 (one point).
	HalfWidth float64
	// MinRepeats and MaxRepeats bound the repeats; 0 means 3 and 7.
	MinRepeats, MaxRepeats int
	// MinSolos is the fewest solo controls of a target; 0 means MinRepeats.
	MinSolos int
}

func (p Precision) withDefaults() Precision {
	if p.HalfWidth <= 0 {
		p.HalfWidth = 0.01
	}
	if p.MinRepeats <= 0 {
		p.MinRepeats = min(3, max(p.MaxRepeats, 0))
		if p.MaxRepeats <= 0 {
			p.MinRepeats = 3
		}
	}
	if p.MaxRepeats <= 0 {
		p.MaxRepeats = max(7, p.MinRepeats)
	}
	p.MaxRepeats = max(p.MaxRepeats, p.MinRepeats)
	if p.MinSolos <= 0 {
		p.MinSolos = p.MinRepeats
	}
	return p
}

// Reporter is told of the progress of an experiment.
type Reporter interface {
	// Left reports that least to most more samples will be taken, unless the CPUs move
	// or other programs disturb some, and the condition that runs next.
	Left(least, most int, next string)
}

// soloEvery is the number of samples between two solo controls of a target, and
// so the largest distance of a control from the sample it normalizes.
const soloEvery = 4

// Plan takes samples of conditions until, for one placement regime, each is
// known to the wanted precision.
type Plan struct {
	Conditions []Condition
	Precision  Precision
	// Tag reports the regime now.
	Tag func(context.Context) (regime.Tag, error)
	// Reporter may be nil.
	Reporter Reporter
	// Random orders the conditions.
	Random *rand.Rand
	// Keep is called with every kept sample before the next one; may be nil.
	Keep func(Sample) error

	collected map[regime.Class]*collection
	dropped   int
	spell     int
	last      regime.Tag
}

// Outcome holds the samples of a finished plan, all in one regime.
type Outcome struct {
	Class regime.Class
	// RoundTrip is the median round trip of the kept samples.
	RoundTrip time.Duration
	// Dropped counts samples lost to a change of regime or taken in another one.
	Dropped int
	// Tally counts the samples by regime, kept or not.
	Tally map[regime.Class]int

	*collection
}

// Restore adds samples of an earlier, interrupted run.
func (p *Plan) Restore(samples []Sample) {
	for _, s := range samples {
		p.collection(s.Tag.Class).add(s)
		p.spell = max(p.spell, s.Spell+1)
	}
}

// Run takes the samples. On cancellation it returns the context's error; Keep has
// then seen every sample taken. Conditions may be added between calls.
func (p *Plan) Run(ctx context.Context) (*Outcome, error) {
	p.Precision = p.Precision.withDefaults()
	// An experiment whose regimes never hold takes four times the most that one needs.
	limit := 4 * len(p.Conditions) * (p.Precision.MaxRepeats + 1) * (soloEvery + 1) / soloEvery
	waited, starved := time.Duration(0), 0
	for taken := 0; ; {
		if taken >= limit {
			return nil, fmt.Errorf("%d samples taken and no placement regime held long enough (%s): try again later, shorten the command, or pin the virtual CPUs on the host", taken, p.shares())
		}
		before, err := p.Tag(ctx)
		if err != nil {
			return nil, err
		}
		if !before.Same(p.last) {
			p.spell++
		}
		p.last = before
		wanted := p.needed(before.Class)
		if len(wanted) == 0 {
			if err := p.waitOut(ctx, before.Class, &waited); err != nil {
				return nil, err
			}
			continue
		}
		seen := p.collection(before.Class)
		next, pending := seen.next(wanted, p.Precision, p.spell, p.Random)
		if pending == 0 {
			return p.outcome(before.Class), nil
		}
		if p.Reporter != nil {
			least, most := seen.left(wanted, p.Precision)
			p.Reporter.Left(least, most, next.String())
		}
		taken++
		start := time.Now()
		observation, err := next.Run(ctx)
		if (errors.Is(err, ErrStarved) || errors.Is(err, ErrDisturbed)) && starved < starvedLimit {
			starved++
			p.dropped++
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", next.String(), err)
		}
		starved = 0
		after, err := p.Tag(ctx)
		if err != nil {
			return nil, err
		}
		if !before.Same(after) {
			p.dropped++
			continue
		}
		sample := Sample{Key: next.Key(), Tag: before, Spell: p.spell, Start: start, Observation: observation}
		seen.add(sample)
		if p.Keep != nil {
			if err := p.Keep(sample); err != nil {
				return nil, err
			}
		}
	}
}

const (
	regimePoll = 50 * time.Millisecond
	// regimePatience bounds the time spent waiting for a wanted regime.
	regimePatience = 20 * time.Second
)

// ErrStarved says that other programs kept the interferer from its CPUs for a whole
// sample, and ErrDisturbed that they slowed it down more than the application did. A
// plan takes such a sample again.
var (
	ErrStarved   = errors.New("the stream moved nothing: free the CPUs of the experiment")
	ErrDisturbed = errors.New("the interferer was much slower alone than beside the application: other programs keep it from its CPUs: repeat the measurement on a quieter machine")
)

// starvedLimit bounds the samples lost in a row to other programs.
const starvedLimit = 10

// ErrRegimeLeft is wrapped when no regime that a plan wants comes back.
var ErrRegimeLeft = errors.New("the CPUs moved")

func (p *Plan) waitOut(ctx context.Context, unwanted regime.Class, waited *time.Duration) error {
	if *waited >= regimePatience {
		return fmt.Errorf("%w: in the %s placement nothing can be measured, and it lasted for %v: calibrate the probes for it: bandmate machine", ErrRegimeLeft, unwanted, regimePatience)
	}
	*waited += regimePoll
	select {
	case <-ctx.Done():
	case <-time.After(regimePoll):
	}
	return ctx.Err()
}

// String describes the condition, for messages.
func (c Condition) String() string {
	if c.Beside == "" {
		return c.Target + " alone"
	}
	return c.Target + " beside " + c.Beside
}

// needed returns the conditions wanted in a regime.
func (p *Plan) needed(class regime.Class) []Condition {
	return slices.DeleteFunc(slices.Clone(p.Conditions), func(c Condition) bool { return c.Needed != nil && !c.Needed(class) })
}

func (p *Plan) collection(class regime.Class) *collection {
	if p.collected == nil {
		p.collected = map[regime.Class]*collection{}
	}
	if p.collected[class] == nil {
		p.collected[class] = newCollection()
	}
	return p.collected[class]
}

func (p *Plan) outcome(class regime.Class) *Outcome {
	o := &Outcome{Class: class, Dropped: p.dropped, Tally: map[regime.Class]int{}, collection: p.collected[class]}
	for c, seen := range p.collected {
		o.Tally[c] = seen.size()
		if c != class {
			o.Dropped += seen.size()
		}
	}
	var trips []float64
	for _, s := range o.samples {
		trips = append(trips, float64(s.Tag.RoundTrip))
	}
	o.RoundTrip = time.Duration(stats.Median(trips))
	return o
}

// shares describes how many samples each regime got.
func (p *Plan) shares() string {
	parts := []string{fmt.Sprintf("%d dropped", p.dropped)}
	for _, class := range slices.Sorted(maps.Keys(p.collected)) {
		parts = append(parts, fmt.Sprintf("%d in %s", p.collected[class].size(), class))
	}
	return strings.Join(parts, ", ")
}
