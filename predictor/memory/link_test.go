package memory

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// besideALink is a memory with room to spare, and a link that the interferer fills.
func besideALink(kind Link) *Model {
	m := truth()
	m.slowness = line{{0.5, 0.35}, {1, 0.3}}
	m.link = link{kind: kind, way: 0.6, capacity: 1.01, write: 0.5, queue: 0.05}
	m.interferer.sustained = line{{0.5, 1.33}, {0.75, 1.14}, {1, 1}}
	return m
}

// A fit finds what the interferer's curves say of the link: what it carries, and what a
// write costs.
func TestFitFindsTheLink(t *testing.T) {
	for _, kind := range []Link{LinkOwn, LinkShared} {
		made := besideALink(kind)
		all, _ := sources(made)
		fitted, err := Fit(all, kind)
		if err != nil {
			t.Fatal(err)
		}
		carries := fitted.link.capacity * float64(fitted.unit/made.unit)
		if math.Abs(carries/made.link.capacity-1) > 0.05 || math.Abs(fitted.link.write-made.link.write) > 0.1 {
			t.Errorf("%s: carries %v, with %+v; made with %+v", kind, carries, fitted.link, made.link)
		}
	}
}

// Over one link two co-runners press hardly harder than one and slow each other down;
// with a link each they do neither.
func TestSharedLink(t *testing.T) {
	target := []Phase{{1, units.TrafficOf(8*gb, 1)}}
	stream := []Phase{{1, units.TrafficOf(19*gb, 1)}}
	for _, test := range []struct {
		kind             Link
		together, moving float64 // of one co-runner beside another, at least and at most
	}{{LinkShared, 0.4, 0.6}, {LinkOwn, 0.8, 1}} {
		m := besideALink(test.kind)
		x, y := m.Place(target, units.Traffic{}, Loop{1, 1, 0}).Home[0], m.Place(stream, units.Traffic{}, Loop{5, 1, 0}).Away[0]
		var one [2]units.NormalizedPerformance
		var two [3]units.NormalizedPerformance
		m.Solve([]Member{x, y}, one[:])
		m.Solve([]Member{x, y, y}, two[:])
		if p := float64(two[1] / one[1]); p < test.together || p > test.moving {
			t.Errorf("%s: a co-runner keeps %.2f beside another, want %v to %v", test.kind, p, test.together, test.moving)
		}
		if test.kind == LinkShared && one[0]-two[0] > 0.02 {
			t.Errorf("the target has %v beside one co-runner and %v beside two over the same link", one[0], two[0])
		}
	}
}

// However many come over one link, they transfer no more than it carries, and the target
// loses no more than a full link costs.
func TestFullSharedLink(t *testing.T) {
	m := besideALink(LinkShared)
	x := m.Place([]Phase{{1, units.TrafficOf(8*gb, 1)}}, units.Traffic{}, Loop{1, 1, 0}).Home[0]
	y := m.Place([]Phase{{1, units.TrafficOf(19*gb, 1)}}, units.Traffic{}, Loop{5, 1, 0}).Away[0]
	last := units.NormalizedPerformance(1)
	for _, n := range []int{2, 10, 100, 1000} {
		members := append([]Member{x}, slices.Repeat([]Member{y}, n)...)
		performances := make([]units.NormalizedPerformance, n+1)
		m.Solve(members, performances)
		if last < 1 && math.Abs(float64(performances[0]-last)) > 0.01 {
			t.Errorf("the target has %v beside %d, and %v beside fewer that fill the link", performances[0], n, last)
		}
		last = performances[0]
		if use := float64(n) * y.use * float64(performances[1]); use > 1.01 {
			t.Errorf("%d co-runners use %.2f of the link", n, use)
		}
	}
}

// An application known as a co-runner alone is found as a target, too.
func TestHomeOfACorunner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := besideALink(rapid.SampledFrom(Links()).Draw(t, "link"))
		loop := Loop{rapid.Float64Range(0.5, 20).Draw(t, "in flight"), rapid.SampledFrom(overlaps[:]).Draw(t, "overlap"), 0}
		phases := []Phase{
			{0.3, units.TrafficOf(units.Bandwidth(rapid.Float64Range(0.1, 18).Draw(t, "GB/s"))*gb, 1)},
			{0.7, units.TrafficOf(2*gb, 0.6)},
		}
		roles := m.Place(phases, units.Traffic{}, loop)
		var sum float64
		for i, home := range roles.Home {
			sum += roles.HomeShares[i]
			if away := roles.Away[i]; home.alone.total() < away.alone.total()*(1-1e-9) {
				t.Fatalf("phase %d: %v as a target, %v as a co-runner", i, home.alone, away.alone)
			}
			if home.delay > 1 && home.alone.total()*home.delay > home.loop.inFlight*(1+1e-9) {
				t.Fatalf("phase %d: more in flight than %v", i, home.loop.inFlight)
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("time shares add up to %v", sum)
		}
		twice := m.Place(phases, units.TrafficOf(4*gb, 0.9), loop)
		var mean float64
		for i, home := range twice.Home {
			mean += twice.HomeShares[i] * home.alone.total()
		}
		if want := float64(4 * gb / m.unit); math.Abs(mean/want-1) > 1e-9 {
			t.Fatalf("mean traffic as a target %v, want the measured %v", mean, want)
		}
	})
}

// Behind finds the wait that Solve finds.
func TestBehind(t *testing.T) {
	m := besideALink(LinkShared)
	y := m.Place([]Phase{{1, units.TrafficOf(15*gb, 0.8)}}, units.Traffic{}, Loop{6, 1, 0}).Away[0]
	flow, _ := m.Tabulate(&y)
	for i, f := range flow {
		flow[i] = f.Add(f)
	}
	places, shared := m.Behind(&flow)
	if !shared {
		t.Fatal("no shared link")
	}
	for place := range Delays - 8 {
		delay := delayAtPlace(place)
		whole := int(places[place])
		low, high := delayAtPlace(whole), delayAtPlace(min(whole+1, Delays-1))
		got := low + (float64(places[place])-float64(whole))*(high-low) - delay
		want := m.linkWait([]Member{y, y}, delay)
		if math.Abs(got-want) > 0.1*(delay+want) {
			t.Errorf("at a delay of %v the wait is %v, want %v", delay, got, want)
		}
	}
	if _, shared := besideALink(LinkOwn).Behind(&flow); shared {
		t.Error("a wait for a link that nobody shares")
	}
}
