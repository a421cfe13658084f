package modulation

import (
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/regime"
)

// Choosing has a plan find out, while it measures, how long slices have to settle: until a
// neighbor has all of its effect, and a program has filled its caches again.
//
// A plan starts with slices that are [Slicing.Longer] than those of its bench, and reads the
// rates in them twice: from the moment on at which those of the bench have settled, and from
// the later one. The two are of the same slices, so that neither phases nor drift tell them
// apart. If they agree, all readings are taken from the early moment on, and slices become
// as short as those of the bench. If the neighbor does more later, the longer slices are
// compared with longer ones in turn. Until that is known, readings are taken from the later
// moment on.
type Choosing struct {
	// Longest bounds the length of slices, so that some blocks fit into a run of the
	// program; 0 means that nothing does.
	Longest time.Duration

	first  Slicing
	chosen map[regime.Class]*chosen
}

// chosen is what is known in a placement regime.
type chosen struct {
	// short are slices that may do, and now those that are used: short ones if they do,
	// longer ones otherwise.
	short, now Slicing
	// agreed says that the result of short slices is that of longer ones, and whole that
	// this was seen along a whole run.
	agreed, whole bool
	// compared is the number of readings at the last comparison, leftOut what short slices
	// left out of the performance beside the strongest neighbor in these, and leftOutError
	// its standard error.
	compared              int
	leftOut, leftOutError float64
	// ended is how often a party ended within a block of slices that are longer than short
	// ones.
	ended int
	// before are readings from short slices, by comparison, of so many blocks.
	before map[string][]Reading
	blocks int
}

const (
	// longestCompared is the length above which no longer slices are tried: they show
	// most of what most pressures do, and few of longer ones fit into the time that there is.
	longestCompared = 20 * time.Millisecond
	// leastEffect is the least Effect of readings that are compared.
	leastEffect = 0.5
	// fewestCompared is the fewest of them.
	fewestCompared = 16
	// enoughLeftOut is how much of the performance beside the strongest neighbor early
	// readings may leave out.
	enoughLeftOut = 0.015
	// littleLeftOut is how much it may be where longer slices are used: these leave out less.
	littleLeftOut = 0.03
	// surely is how many standard errors tell that a neighbor does more later.
	surely = 3
	// endedToShorten is how often more a party may end within a block than that a block is
	// complete, before slices become short.
	endedToShorten = 4
)

// ends reports whether no longer slices than these are to be tried.
func (c *Choosing) ends(s Slicing) bool {
	return s.Length > longestCompared || c.Longest > 0 && s.Longer().Length > c.Longest
}

// in returns what is known in a regime, first without anything.
func (c *Choosing) in(class regime.Class) *chosen {
	if of := c.chosen[class]; of != nil {
		return of
	}
	if c.chosen == nil {
		c.chosen = map[regime.Class]*chosen{}
	}
	of := &chosen{}
	c.doubt(of, c.first)
	c.chosen[class] = of
	return of
}

// doubt has longer slices tell whether short ones do, if there may be longer ones.
func (c *Choosing) doubt(of *chosen, short Slicing) {
	*of = chosen{short: short, now: short}
	if !c.ends(short) {
		of.now = short.Longer()
		of.now.Early = short.Settle
	}
}

// Slicing returns the slices that readings in a regime are from, or are to be from.
func (p *Plan) Slicing(class regime.Class) Slicing {
	if p.Choosing == nil {
		return p.Bench.Slicing
	}
	s := p.Choosing.in(class).now
	s.Early = 0
	return s
}

// Agreed reports whether longer slices than those that are used would show no more of the
// effects in a regime, as far as a plan that was carried out tells, for a whole run.
func (p *Plan) Agreed(class regime.Class) bool {
	if p.Choosing == nil {
		return false
	}
	of := p.Choosing.in(class)
	if of.agreed {
		return of.whole
	}
	return of.now.Early > 0 && of.compared > 0 && math.Abs(of.leftOut)+of.leftOutError < littleLeftOut
}

// useChosen has the bench use the slices for a regime.
func (p *Plan) useChosen(class regime.Class) {
	if p.Choosing != nil {
		p.Bench.Slicing = p.Choosing.in(class).now
	}
}

// undecided returns what is known in a regime whose readings are from two moments on; nil for
// another one.
func (p *Plan) undecided(class regime.Class) *chosen {
	if p.Choosing == nil || p.Choosing.in(class).now.Early == 0 {
		return nil
	}
	return p.Choosing.in(class)
}

// choose compares the readings in a regime from two moments on, and chooses by the result.
func (p *Plan) choose(class regime.Class) {
	of := p.undecided(class)
	if of == nil {
		return
	}
	var leftOut []float64
	for _, point := range p.Points {
		for _, c := range point.Compare {
			if c.Effect < leastEffect {
				continue
			}
			for _, r := range p.Outcome.Readings[class][c.Name] {
				if r.Early != nil {
					leftOut = append(leftOut, (r.Early.Log-r.Log)/c.Effect)
				}
			}
		}
	}
	if len(leftOut) < fewestCompared || float64(len(leftOut)) < checkGrowth*float64(of.compared) {
		return
	}
	of.compared = len(leftOut)
	mean, se := trimmedError(leftOut)
	of.leftOut, of.leftOutError = mean, se
	switch {
	case math.Abs(mean)+se < enoughLeftOut:
		p.useShort(class, of)
		of.agreed, of.whole = true, p.Whole == nil || p.Whole()
	case mean-surely*se > fewestDifference:
		longer := of.now
		longer.Early = 0
		p.Choosing.doubt(of, longer)
		if of.now.Early > 0 {
			of.before, of.blocks = p.Outcome.Readings[class], p.Outcome.Blocks[class]
			p.restart(class)
		}
	}
}

// restart forgets the readings in a regime.
func (p *Plan) restart(class regime.Class) {
	delete(p.Outcome.Readings, class)
	delete(p.Outcome.Blocks, class)
	p.checked = map[[2]string]checked{}
}

// useShort has the readings in a regime be those from the early moment on, after those from
// slices that were as short before, and slices be as short.
func (p *Plan) useShort(class regime.Class, of *chosen) {
	all := map[string][]Reading{}
	maps.Copy(all, of.before)
	for name, readings := range p.Outcome.Readings[class] {
		runs := 0
		if list := of.before[name]; len(list) > 0 {
			runs = list[len(list)-1].Run + 1
		}
		for i := range readings {
			r := &readings[i]
			r.Run += runs
			if r.Early != nil {
				r.Log, r.Lost, r.Alone, r.Beside = r.Early.Log, r.Early.Lost, r.Early.Alone, r.Early.Beside
			}
		}
		all[name] = slices.Concat(of.before[name], readings)
	}
	p.Outcome.Readings[class] = all
	if of.blocks > 0 {
		p.Outcome.Blocks[class] += of.blocks
	}
	of.now, of.before, of.blocks = of.short, nil, 0
	p.checked = map[[2]string]checked{}
}

// keepLength keeps the length of slices that the bench uses in a regime.
func (p *Plan) keepLength(class regime.Class) {
	if p.Choosing != nil {
		of := p.Choosing.in(class)
		of.now = p.Bench.Slicing
	}
}

// endedIn has slices become short where a program ends before a block does.
func (p *Plan) endedIn(class regime.Class) {
	of := p.undecided(class)
	if of == nil {
		return
	}
	if of.ended++; of.ended > endedToShorten+p.Outcome.Blocks[class] {
		p.restart(class)
		p.useShort(class, of)
	}
}

// finish has the readings before those of longer slices count, too, where a plan ends before
// it is known whether the longer ones are needed: few readings say less than many that leave
// something out.
func (p *Plan) finish() {
	if p.Choosing == nil {
		return
	}
	for class, of := range p.Choosing.chosen {
		if of.now.Early > 0 && of.before != nil {
			p.useShort(class, of)
		}
	}
}

// trimmedError returns the trimmed mean of values and its standard error, from the variance of
// the values without the trimmed ones, in whose place the outermost of the others stand (Tukey
// and McLaughlin 1963).
func trimmedError(values []float64) (mean, se float64) {
	slices.Sort(values)
	mean = trimmedMean(values)
	n := len(values)
	cut := int(trim * float64(n))
	for i := range cut {
		values[i], values[n-1-i] = values[cut], values[n-1-cut]
	}
	return mean, stat.StdDev(values, nil) * math.Sqrt(float64(n)) / float64(n-2*cut)
}
