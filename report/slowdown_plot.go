package report

import (
	"cmp"
	"io"
	"math"
	"strconv"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

// SlowdownPlot shows predicted slowdowns, a row for each application or place,
// against 1, which is undisturbed.
type SlowdownPlot struct {
	Title string
	// Series names what each row has a value of; one or more.
	Series []string
	Rows   []SlowdownRow
	// Limit is the slowdown that was allowed, shown as a line; 0 for none.
	Limit units.Slowdown
	// Notes stand below the picture, a line each.
	Notes []string
}

// SlowdownRow is what is predicted for one application, or at one place.
type SlowdownRow struct {
	Name string
	// Values has one member per series; those that are missing are not known.
	Values []SlowdownValue
	// Remark is a few words at the row's name.
	Remark string
}

// SlowdownValue is a prediction.
type SlowdownValue struct {
	// Slowdown is 0 where nothing can be predicted.
	Slowdown units.Slowdown
	// Low and High hold the slowdown with a probability of 90%; 0 or NaN where no
	// interval is known.
	Low, High units.Slowdown
	// Extrapolated is true where the pressure exceeds what was measured.
	Extrapolated bool
	// Missing is what to say where there is no slowdown; "not known" when empty.
	Missing string
}

func (v SlowdownValue) known() bool {
	return v.Slowdown > 0 && !math.IsInf(float64(v.Slowdown), 0)
}

func (v SlowdownValue) bounded() bool {
	return v.known() && v.Low > 0 && v.High >= v.Low && !math.IsInf(float64(v.High), 0)
}

// text is the value in words.
func (v SlowdownValue) text() string {
	text := cmp.Or(v.Missing, "not known")
	if v.known() {
		text = Slowdown(v.Slowdown)
	}
	if v.bounded() {
		text += " (" + SlowdownBetween(v.Low, v.High) + ")"
	}
	return text
}

// value returns that of a series; one that is missing is not known.
func (r SlowdownRow) value(series int) SlowdownValue {
	if series < len(r.Values) {
		return r.Values[series]
	}
	return SlowdownValue{}
}

// WriteCSV writes one line per row and series: name, series, slowdown, low and high (its
// 90% interval), extrapolated, and remark. Unknown values are empty.
func (p *SlowdownPlot) WriteCSV(w io.Writer) error {
	t := Table{Columns: []Column{
		{Key: "name"}, {Key: "series"}, {Key: "slowdown"}, {Key: "low"}, {Key: "high"}, {Key: "extrapolated"}, {Key: "remark"},
	}}
	for _, row := range p.Rows {
		for i, series := range p.Series {
			v := row.value(i)
			slowdown, low, high, extrapolated := math.NaN(), math.NaN(), math.NaN(), ""
			if v.known() {
				slowdown, extrapolated = float64(v.Slowdown), strconv.FormatBool(v.Extrapolated)
			}
			if v.bounded() {
				low, high = float64(v.Low), float64(v.High)
			}
			t.Add(Text(row.Name), Text(series), Number("", slowdown), Number("", low), Number("", high), Text(extrapolated), Text(row.Remark))
		}
	}
	return t.WriteCSV(w)
}

// scale returns the axis from 1, or what lies below, to the highest value.
func (p *SlowdownPlot) scale() drawing.Scale {
	low, high := 1.0, 1.1
	include := func(s units.Slowdown) { low, high = min(low, float64(s)), max(high, float64(s)) }
	if p.Limit >= 1 && !math.IsInf(float64(p.Limit), 0) {
		include(p.Limit)
	}
	for _, row := range p.shown() {
		for i := range p.Series {
			v := row.value(i)
			if v.known() {
				include(v.Slowdown)
			}
			if v.bounded() {
				include(v.Low)
				include(v.High)
			}
		}
	}
	return drawing.Scale{Low: low, High: high, Label: func(v float64) string { return twoDecimals(v) + "×" }}.Rounded(6)
}
