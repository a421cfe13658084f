package evaluation

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/predictor"
)

// MethodErrors summarizes |predicted − measured| normalized performance over
// the pairs in percentage points, as a row of the paper's tables.
type MethodErrors struct {
	Name predictor.Method `json:"name"`
	// ReadShares and Points are the read shares and the levels of each that
	// the method reads of a profile; of several profiles, the most.
	ReadShares int     `json:"readShares"`
	Points     int     `json:"points"`
	Mean       float64 `json:"meanAbsError"`
	// SD is the standard deviation of the absolute errors; 0 with one row.
	SD   float64 `json:"sdAbsError"`
	Max  float64 `json:"maxAbsError"`
	Rows int     `json:"rows"`
	// Cost is the points the method reads per application, on average, ÷ 4: the
	// cost of one curve of four levels is 1 (the paper, section 4.2). Points
	// that it does not read cost it nothing, and a curve that it makes up from
	// two others costs both.
	Cost float64 `json:"cost"`
	// Coverage is the part of the measured slowdowns that lie within the 90%
	// interval, 0 to 1.
	Coverage float64 `json:"coverage"`
	// Width is the mean width of the interval, in slowdown.
	Width float64 `json:"-"`
}

// GroupErrors summarizes the errors of a method beside so many co-runners.
type GroupErrors struct {
	Name      predictor.Method `json:"name"`
	Corunners int              `json:"corunners"`
	Mean      float64          `json:"meanAbsError"`
	Max       float64          `json:"maxAbsError"`
	Rows      int              `json:"rows"`
	// Coverage is as in MethodErrors.
	Coverage float64 `json:"coverage"`
}

// tally sums up the absolute errors of a method, one row after another, by the
// recurrence of Welford (Technometrics 4(3), 1962).
type tally struct {
	rows, covered        int
	mean, squares, worst float64
	width                float64
}

func (t *tally) add(r Row) {
	e := math.Abs(r.Error())
	t.rows++
	off := e - t.mean
	t.mean += off / float64(t.rows)
	t.squares += off * (e - t.mean)
	t.worst = max(t.worst, e)
	if r.Covered() {
		t.covered++
	}
	t.width += float64(r.Interval.High - r.Interval.Low)
}

func (t *tally) sd() float64 {
	if t.rows < 2 {
		return 0
	}
	return math.Sqrt(t.squares / float64(t.rows-1))
}

func (t *tally) coverage() float64 { return float64(t.covered) / float64(t.rows) }

// tallyKey is what rows are counted by.
type tallyKey struct {
	corunners int
	method    predictor.Method
}

// tallies are the tallies of every method and number of co-runners.
type tallies struct {
	methods []predictor.Method
	by      map[tallyKey]*tally
}

func (t *tallies) add(r Row) {
	key := tallyKey{r.Corunners, r.Method}
	if t.by[key] == nil {
		t.by[key] = &tally{}
	}
	t.by[key].add(r)
}

// summarize writes the tables into a result: pairs by method, groups by number
// of co-runners and then by method.
func (t *tallies) summarize(into *Result, apps map[string]*predictor.Application) error {
	counts := map[int]bool{}
	for key := range t.by {
		counts[key.corunners] = true
	}
	for _, m := range t.methods {
		s := t.by[tallyKey{1, m}]
		row := MethodErrors{
			Name: m, Mean: s.mean, SD: s.sd(), Max: s.worst, Rows: s.rows,
			Coverage: s.coverage(), Width: s.width / float64(s.rows),
		}
		if err := row.count(apps); err != nil {
			return err
		}
		into.Methods = append(into.Methods, row)
	}
	for key, s := range t.by {
		if key.corunners > 1 {
			into.Groups = append(into.Groups, GroupErrors{
				Name: key.method, Corunners: key.corunners, Mean: s.mean, Max: s.worst, Rows: s.rows, Coverage: s.coverage(),
			})
		}
	}
	slices.SortFunc(into.Groups, func(a, b GroupErrors) int {
		return cmp.Or(
			cmp.Compare(a.Corunners, b.Corunners),
			cmp.Compare(slices.Index(t.methods, a.Name), slices.Index(t.methods, b.Name)),
		)
	})
	return nil
}

// count fills in what the method reads.
func (e *MethodErrors) count(apps map[string]*predictor.Application) error {
	points, targets := 0, 0
	for _, a := range apps {
		reads, err := a.Reads(optionsOf(e.Name).Method)
		if err != nil {
			return err
		}
		e.ReadShares, e.Points = max(e.ReadShares, reads.ReadShares), max(e.Points, reads.Levels)
		points += reads.Points
		if reads.Points > 0 {
			targets++
		}
	}
	if targets > 0 {
		e.Cost = float64(points) / float64(targets) / 4
	}
	return nil
}
