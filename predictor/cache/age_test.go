package cache

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// user uses the lines of a set, in turn or at random, or a stream of new ones.
type user struct {
	lines  int // of its set; 0 for a stream
	rate   float64
	inTurn bool
}

// reuse returns what the model is told of a user, with lines of one byte.
func (u user) reuse() Reuse {
	if u.lines == 0 {
		return Reuse{Stream: u.rate}
	}
	order := 1
	if u.inTurn {
		order = mostRegular
	}
	return Reuse{Sets: []Set{{float64(u.lines), float64(u.lines) / u.rate, order}}}
}

// simulate returns the part of a set-associative cache that each user holds and the part of
// its uses that miss, after the cache has become warm.
func simulate(sets, ways, uses int, policy replacement, users ...user) (held, missing []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	type line struct{ user, number int }
	lines := make([]line, sets*ways)
	for i := range lines {
		lines[i].user = -1
	}
	var total float64
	for _, u := range users {
		total += u.rate
	}
	position := make([]int, len(users))
	made, missed := make([]float64, len(users)), make([]float64, len(users))
	for now := 1; now <= uses; now++ {
		who, at := 0, r.Float64()*total
		for at > users[who].rate {
			at -= users[who].rate
			who++
		}
		u := users[who]
		number := position[who]
		switch {
		case u.lines == 0:
			position[who]++
		case u.inTurn:
			position[who] = (number + 1) % u.lines
		default:
			number = r.IntN(u.lines)
		}
		// A hash spreads the lines over the sets.
		hash := (uint64(number)*8 + uint64(who) + 1) * 0x9e3779b97f4a7c15
		set := int((hash >> 32) % uint64(sets))
		first := set * ways
		found := -1
		for i := range ways {
			if lines[first+i] == (line{who, number}) {
				found = first + i
			}
		}
		warm := now > uses/2
		if warm {
			made[who]++
		}
		if found < 0 {
			found = first + policy.victim(set)
			lines[found] = line{who, number}
			policy.use(set, found-first, true)
			if warm {
				missed[who]++
			}
			continue
		}
		policy.use(set, found-first, false)
	}
	held, missing = make([]float64, len(users)), make([]float64, len(users))
	for _, l := range lines {
		if l.user >= 0 {
			held[l.user] += 1 / float64(len(lines))
		}
	}
	for i := range users {
		missing[i] = missed[i] / made[i]
	}
	return held, missing
}

// What users hold and miss at the age that fills the cache is what they hold and miss in a
// simulated cache, under each policy.
func TestAgeAgainstSimulation(t *testing.T) {
	const sets, ways = 256, 16
	random := rand.New(rand.NewPCG(3, 4))
	policies := []struct {
		name      string
		simulated replacement
		modeled   Policy
		// held and missing are how far the age may be off.
		held, missing float64
	}{
		{"least recent", &leastRecent{used: ofEach[int](sets, ways)}, LeastRecent, 0.05, 0.06},
		{"tree", tree{ofEach[bool](sets, ways)}, LeastRecent, 0.06, 0.06},
		{"not recent", notRecent{random, ofEach[bool](sets, ways)}, NotRecent, 0.05, 0.06},
		{"random", anyone{random, ways}, Random, 0.05, 0.06},
		{"re-reference", reReference{ofEach[int](sets, ways)}, ReReference, 0.06, 0.1},
	}
	for name, users := range map[string][]user{
		"a set beside a stream":      {{2000, 1, false}, {0, 1, false}},
		"a fast set beside a stream": {{3000, 4, false}, {0, 1, false}},
		"two sets, both fit alone":   {{3000, 1, false}, {3000, 2, false}},
		"in turn beside a stream":    {{2000, 3, true}, {0, 1, false}},
		"three":                      {{1500, 1, false}, {5000, 2, false}, {0, 0.5, false}},
	} {
		for _, p := range policies {
			held, missing := simulate(sets, ways, 400_000, p.simulated, users...)
			m := Model{bytes: sets * ways, policy: p.modeled, fill: sets * ways}
			age := m.age(func(age float64) (sum float64) {
				for _, u := range users {
					r := u.reuse()
					sum += r.at(p.modeled, age).held
				}
				return sum
			})
			for i, u := range users {
				r := u.reuse()
				s := r.at(p.modeled, age)
				if got := s.held / m.bytes; math.Abs(got-held[i]) > p.held {
					t.Errorf("%s, %s: user %d holds %.3f, %.3f simulated", name, p.name, i, got, held[i])
				}
				if got := s.read / u.rate; math.Abs(got-missing[i]) > p.missing {
					t.Errorf("%s, %s: user %d misses %.3f, %.3f simulated", name, p.name, i, got, missing[i])
				}
			}
		}
	}
}

// However old, a set holds no more than its size, and holds more and misses less with age.
func TestSetByAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Set{
			rapid.Float64Range(1, 1e9).Draw(t, "bytes"), rapid.Float64Range(1e-9, 1e3).Draw(t, "seconds"),
			rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "order"),
		}
		p := rapid.SampledFrom(Policies()).Draw(t, "policy")
		young := rapid.Float64Range(0, 1e4).Draw(t, "age")
		old := young + rapid.Float64Range(0, 1e4).Draw(t, "more")
		held, missing := s.at(p, young)
		more, fewer := s.at(p, old)
		const rounding = 1e-9
		if held < 0 || more > s.Bytes*(1+rounding) || held > more*(1+rounding)+rounding {
			t.Errorf("holds %v at %v, %v at %v", held, young, more, old)
		}
		if fewer < 0 || missing > 1 || fewer > missing+rounding {
			t.Errorf("misses %v at %v, %v at %v", missing, young, fewer, old)
		}
	})
}

// Everything that fits has no age.
func TestAgeOfWhatFits(t *testing.T) {
	m := Model{bytes: 100, policy: LeastRecent, fill: 1}
	if age := m.age(func(float64) float64 { return 99 }); age < oldest*m.fill*(1-1e-9) {
		t.Errorf("age %v of what fits", age)
	}
	if age := m.age(func(age float64) float64 { return 50 * age }); math.Abs(age-2) > 1e-6 {
		t.Errorf("age %v, want 2", age)
	}
}

// A model needs applications that were measured in the cache as well as beside streams.
func TestFitNeedsBothKinds(t *testing.T) {
	source := Source{Alone: units.Traffic{Read: 1e9}, Points: []Point{{ReadShare: 1, Solo: 1e9, Achieved: 1e9, Performance: 0.9, Total: -1}}}
	_, _, err := Fit([]Source{source, source, source, source, source}, 1<<20)
	if !errors.Is(err, memory.ErrNotEnough) {
		t.Errorf("%v, want ErrNotEnough", err)
	}
}
