package modulation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"bandmate.dev/bandmate/regime"
)

// Precision says when a plan is done.
type Precision struct {
	// StandardError of the performance is what a comparison is to reach; 0 means
	// 0.006, so that the 90% interval is about one point to each side.
	StandardError float64
	// Fewest and Most bound the blocks of a comparison; 0 means 10 and 400.
	Fewest, Most int
}

// WithDefaults returns p with its defaults filled in.
func (p Precision) WithDefaults() Precision {
	return Precision{
		StandardError: cmp.Or(p.StandardError, 0.006),
		Fewest:        cmp.Or(p.Fewest, 10),
		Most:          max(cmp.Or(p.Most, 400), p.Fewest),
	}
}

// pending returns the points that are not precise in a class, as often as their share is,
// in the order in which they are to be taken: those with the fewest readings for their
// share first and equals in random order.
func (p *Plan) pending(class regime.Class) []*Point {
	type turn struct {
		point *Point
		// readings are those that the point has before its turn, for its share.
		readings float64
	}
	var turns []turn
	for i := range p.Points {
		point := &p.Points[i]
		if p.lacks(class, point) == 0 {
			continue
		}
		share := max(point.Share, 1)
		has := len(p.Outcome.Readings[class][point.Compare[0].Name])
		for k := range share {
			turns = append(turns, turn{point, float64(has+k) / float64(share)})
		}
	}
	p.Bench.Random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.readings, b.readings) })
	list := make([]*Point, len(turns))
	for i, t := range turns {
		list[i] = t.point
	}
	return list
}

// all returns every point in random order.
func (p *Plan) all() []*Point {
	list := make([]*Point, len(p.Points))
	for i, k := range p.Bench.Random.Perm(len(p.Points)) {
		list[i] = &p.Points[k]
	}
	return list
}

// done returns the share of the work that is done, by the blocks or by the
// budget, whichever is further.
func (p *Plan) done(class regime.Class, spent time.Duration) float64 {
	share := 1 - float64(p.missing(class))/float64(p.Precision.Fewest*len(p.Points))
	if p.Budget > 0 {
		share = max(share*readingShare, min(spent.Seconds()/p.Budget.Seconds(), 1))
	}
	return share
}

// readingShare is the part of the work that the fewest blocks are, about: the rest
// makes them precise.
const readingShare = 0.5

// missing returns how many of the fewest blocks the points lack in a class, and
// one for each that is not precise.
func (p *Plan) missing(class regime.Class) int {
	sum := 0
	for i := range p.Points {
		sum += p.lacks(class, &p.Points[i])
	}
	return min(sum, p.Precision.Fewest*len(p.Points))
}

// least returns the fewest readings that a comparison has in a class.
func (p *Plan) least(class regime.Class) int {
	least := math.MaxInt
	for _, point := range p.Points {
		for _, c := range point.Compare {
			least = min(least, len(p.Outcome.Readings[class][c.Name]))
		}
	}
	return least
}

// lacks returns how many blocks a point lacks: one at a time once it has the
// fewest.
func (p *Plan) lacks(class regime.Class, point *Point) int {
	most := 0
	for _, c := range point.Compare {
		switch n := len(p.Outcome.Readings[class][c.Name]); {
		case n < p.Precision.Fewest:
			most = max(most, p.Precision.Fewest-n)
		case n < p.Precision.Most && !p.precise(class, c):
			most = max(most, 1)
		}
	}
	return most
}

// checked is how a comparison was found when it was checked last.
type checked struct {
	readings int
	// narrow counts the checks in a row in which the interval was narrow enough.
	narrow int
}

const (
	// checkGrowth is by how much the readings of a comparison grow before its
	// interval is computed again.
	checkGrowth = 1.2
	// enoughChecks is how many checks in a row find a precise comparison narrow
	// enough. Whoever stops at the first stops when the estimate of the error
	// happens to be low.
	enoughChecks = 2
)

// precise reports whether the interval of a comparison is as narrow as that of the
// wanted standard error, by all readings or nearly all. The interval of few
// readings, or few runs, is wider than its standard error says.
func (p *Plan) precise(class regime.Class, of Comparison) bool {
	key := [2]string{string(class), of.Name}
	readings := p.Outcome.Readings[class][of.Name]
	wanted := cmp.Or(of.StandardError, p.Precision.StandardError)
	c := p.checked[key]
	if c.narrow >= enoughChecks || float64(len(readings)) < checkGrowth*float64(c.readings) {
		return c.narrow >= enoughChecks
	}
	if c.readings == 0 {
		// They may be from an earlier plan.
		if n := int(float64(len(readings)) / checkGrowth); n >= p.Precision.Fewest && p.narrow(readings[:n], wanted) {
			c.narrow++
		}
	}
	c.readings = len(readings)
	if p.narrow(readings, wanted) {
		c.narrow++
	} else {
		c.narrow = 0
	}
	p.checked[key] = c
	return c.narrow >= enoughChecks
}

// narrow reports whether the interval of readings is as narrow as that of a standard
// error.
func (p *Plan) narrow(readings []Reading, wanted float64) bool {
	e := Summarize(readings, p.Bench.Random)
	return (e.High-e.Low)/2 <= distuv.UnitNormal.Quantile((1+confidence)/2)*wanted
}

// FewestReadings is how many readings of a comparison have a spread. One alone is no
// measurement.
const FewestReadings = 2

// Complete returns the class in which the most comparisons have the fewest blocks that the
// precision asks for, and among equals the one with the most readings; empty without any. A
// class in which a comparison lacks a spread comes after all in which none does.
func (o *Outcome) Complete(fewest int) regime.Class {
	names := map[string]bool{}
	for _, readings := range o.Readings {
		for name := range readings {
			names[name] = true
		}
	}
	var best regime.Class
	var bestRank [3]int
	for _, class := range regime.Classes() {
		rank := [3]int{1, 0, 0}
		for name := range names {
			n := len(o.Readings[class][name])
			if n < FewestReadings {
				rank[0] = 0
			}
			if n >= fewest {
				rank[1]++
			}
			rank[2] += n
		}
		if rank[2] > 0 && (best == "" || slices.Compare(rank[:], bestRank[:]) > 0) {
			best, bestRank = class, rank
		}
	}
	return best
}
