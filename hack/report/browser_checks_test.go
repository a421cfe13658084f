package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp/kb"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// checkEmpty looks at the report of an empty store.
func checkEmpty(_ context.Context, t *table, dir string, page *tab) error {
	err := t.holds(page, "an empty store says what to do",
		`!document.getElementById("empty").hidden && document.getElementById("content").hidden`)
	if err != nil {
		return err
	}
	return checkLooks(t, dir, page)
}

// checkOne looks at the report of one application, which has nobody to be beside
// but itself.
func checkOne(ctx context.Context, t *table, dir string, page *tab) error {
	err := t.holds(page, "one application has a matrix of one cell and no pairing",
		`document.querySelectorAll("td[data-target]").length === 1 && document.getElementById("pairings-body").textContent === "It takes two applications."`)
	if err != nil {
		return err
	}
	if err := checkCells(ctx, t, page, 1, predictor.Curves); err != nil {
		return err
	}
	return checkLooks(t, dir, page)
}

// patience is how long the page may take to show something, on a machine that does
// other things.
const patience = 30 * time.Second

// holds checks that an expression is true in the page, or becomes so.
func (t *table) holds(page *tab, name, expression string) error {
	fault := ""
	for end := time.Now().Add(patience); ; {
		said, err := page.text(expression)
		if err != nil {
			return err
		}
		if said == "true" {
			break
		}
		if time.Now().After(end) {
			fault = "is " + said
			break
		}
		if err := page.press(""); err != nil { // waits
			return err
		}
	}
	t.check(name, fault)
	return nil
}

// checkCurves looks at everything on the report of a few applications that are
// predicted from their curves, with hostile texts and a long name among them.
func checkCurves(ctx context.Context, t *table, dir string, page *tab) error {
	if err := checkCells(ctx, t, page, 14, predictor.Curves); err != nil {
		return err
	}
	if err := checkWhatIf(ctx, t, page, "application-0000", "application-0004", "application-0009"); err != nil {
		return err
	}
	if err := checkKeyboard(t, page); err != nil {
		return err
	}
	if err := checkHostile(t, page); err != nil {
		return err
	}
	return checkLooks(t, dir, page)
}

// checkMemory looks at the numbers of a report that a model of the memory serves:
// by it, and, beside what it does not describe, by curves.
func checkMemory(ctx context.Context, t *table, dir string, page *tab) error {
	if err := checkCells(ctx, t, page, 13, predictor.MemoryModel); err != nil {
		return err
	}
	for _, names := range [][]string{
		{"measured-0000", "measured-0001"},
		{"measured-0000", "measured-0001", "measured-0002"},
		{"measured-0006", "measured-0000", "measured-0012", "measured-0001", "measured-0010", "measured-0002"},
		{"measured-0001", "measured-0003", "measured-0008"},
	} {
		if err := checkWhatIf(ctx, t, page, names...); err != nil {
			return err
		}
	}
	return checkLooks(t, dir, page)
}

// checkNetwork looks at the numbers of applications that share a network card.
func checkNetwork(ctx context.Context, t *table, _ string, page *tab) error {
	if err := checkCells(ctx, t, page, 13, predictor.MemoryModel); err != nil {
		return err
	}
	return checkWhatIf(ctx, t, page, "measured-0000", "measured-0001", "measured-0002", "measured-0006", "measured-0010")
}

// near is how far a number of the page may be from that of predict: rounding,
// amplified by an iteration that ends when its steps are small.
const near = 1e-9

func apart(got, want float64) bool { return !(math.Abs(got-want) <= near*math.Abs(want)) }

// predict asks bandmate, once for each question to a store; false where it refuses,
// because something is not known.
func (t *table) predict(ctx context.Context, names ...string) (p predictor.Prediction, known bool, err error) {
	question := strings.Join(names, " ")
	if p, known = t.answers[question]; known {
		return p, true, nil
	}
	if p, known, err = t.predictAnew(ctx, names...); known && err == nil {
		t.answers[question] = p
	}
	return p, known, err
}

func (t *table) predictAnew(ctx context.Context, names ...string) (p predictor.Prediction, known bool, err error) {
	out, err := t.ask(ctx, append([]string{"predict", "-o", "json"}, names...)...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	return p, true, json.Unmarshal(out, &p)
}

// checkCells holds every cell of the matrix to `bandmate predict`. Some of them
// have to rest on the basis.
func checkCells(ctx context.Context, t *table, page *tab, applications int, basis predictor.Basis) error {
	var cells []struct{ Target, Corunner, Slowdown string }
	err := page.eval(`(() => { const apps = JSON.parse(document.getElementById("data").textContent).applications;
		return [...document.querySelectorAll("td[data-target]")].map((e) => ({Target: apps[e.dataset.target].name, Corunner: apps[e.dataset.corunner].name, Slowdown: e.dataset.slowdown})); })()`, &cells)
	if err != nil {
		return err
	}
	var faults []string
	onBasis := 0
	for _, cell := range cells {
		p, known, err := t.predict(ctx, cell.Target, cell.Corunner)
		if err != nil {
			return err
		}
		shown, err := strconv.ParseFloat(cell.Slowdown, 64)
		if (err == nil) != known || known && apart(shown, float64(p.Slowdown)) {
			faults = append(faults, fmt.Sprintf("%s beside %s: %q, predict says %v", cell.Target, cell.Corunner, cell.Slowdown, p.Slowdown))
		}
		if p.Basis == basis {
			onBasis++
		}
	}
	if len(cells) != applications*applications || onBasis == 0 {
		faults = append(faults, fmt.Sprintf("%d cells, %d by %s", len(cells), onBasis, basis))
	}
	t.check(fmt.Sprintf("%d cells of the matrix, %d by %s, are what predict -o json says", len(cells), onBasis, basis), strings.Join(faults, "; "))
	return nil
}

// checkWhatIf chooses applications by keyboard. The page has exact numbers of
// pairs, and of groups where it is served.
func checkWhatIf(ctx context.Context, t *table, page *tab, names ...string) error {
	if err := page.press("#clear", kb.Enter); err != nil {
		return err
	}
	for _, name := range names {
		if err := page.press("#add", name, kb.Enter); err != nil {
			return err
		}
	}
	if err := t.holds(page, "the answer is there", fmt.Sprintf(`document.querySelectorAll("#answer[aria-busy=false] td[data-slowdown]").length === %d`, len(names))); err != nil {
		return err
	}
	var rows []whatIfRow
	err := page.eval(`[...document.querySelectorAll("#answer td[data-slowdown]")].map((e) => ({Slowdown: e.dataset.slowdown, Low: e.dataset.low, High: e.dataset.high, Basis: e.dataset.basis, Text: e.textContent}))`, &rows)
	if err != nil {
		return err
	}
	var faults []string
	var basis predictor.Basis
	exact := len(names) == 2 || strings.HasSuffix(t.place, " served")
	for i, row := range rows {
		p, known, err := t.predict(ctx, append(append([]string{names[i]}, names[:i]...), names[i+1:]...)...)
		if err != nil {
			return err
		}
		basis = p.Basis
		right := row.Slowdown == ""
		switch {
		case known && exact:
			right = row.is(p)
		case known:
			right = row.approximates(p)
		}
		if !right {
			faults = append(faults, fmt.Sprintf("%s: %v, predict says %v %v by %s (known: %v)", names[i], row, p.Slowdown, p.Interval, p.Basis, known))
		}
	}
	are := "are what predict -o json says"
	if !exact {
		are = "are approximate and say so"
	}
	t.check(fmt.Sprintf("what-if of %d by %s, chosen by keyboard: slowdowns and intervals %s", len(names), basis, are), strings.Join(faults, "; "))
	return nil
}

// whatIfRow is an answer in the page.
type whatIfRow struct{ Slowdown, Low, High, Basis, Text string }

// is reports whether the row shows p.
func (r whatIfRow) is(p predictor.Prediction) bool {
	near := func(text string, want units.Slowdown) bool {
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && !apart(n, float64(want))
	}
	return near(r.Slowdown, p.Slowdown) && near(r.Low, p.Interval.Low) && near(r.High, p.Interval.High) && r.Basis == string(p.Basis)
}

// farthest is the most that package fast says one approximation may be off, in
// normalized performance. Waiting for the network is not in it.
const farthest = 0.35

// approximates reports whether the row shows about p, and says so.
func (r whatIfRow) approximates(p predictor.Prediction) bool {
	if r.Basis != "approximate" || !strings.HasPrefix(r.Text, "about ") || r.Low != "" || r.High != "" {
		return false
	}
	want := p.Slowdown
	if p.Parts != nil {
		want = p.Parts.MemorySlowdown
	}
	n, err := strconv.ParseFloat(r.Slowdown, 64)
	return err == nil && math.Abs(1/n-1/float64(want)) <= farthest
}

// checkKeyboard sorts, searches and walks without a mouse.
func checkKeyboard(t *table, page *tab) error {
	for _, c := range []struct {
		name, selector string
		keys           []string
		want           string
	}{
		{
			"Enter on a column's name sorts the rows, highest first", "#matrix-scroll thead th:nth-child(4) button",
			[]string{kb.Enter},
			`document.querySelector('th[aria-sort="descending"] button') === document.activeElement && ((v) => v.every((x, i) => i === 0 || v[i-1] >= x))([...document.querySelectorAll("#matrix-scroll tbody tr")].map((r) => Number(r.cells[3].dataset.slowdown)))`,
		},
		{
			"Enter again sorts lowest first", "",
			[]string{kb.Enter},
			`((v) => v.every((x, i) => i === 0 || v[i-1] <= x))([...document.querySelectorAll("#matrix-scroll tbody tr")].map((r) => Number(r.cells[3].dataset.slowdown)))`,
		},
		{"Enter a third time ends it", "", []string{kb.Enter}, `document.querySelectorAll('th[aria-sort="descending"], th[aria-sort="ascending"]').length === 0`},
		{
			"arrow keys move between cells, and explain", `td[data-target][tabindex="0"]`,
			[]string{kb.ArrowRight, kb.ArrowDown, kb.ArrowDown, kb.ArrowLeft, kb.End},
			`document.activeElement === document.querySelector("#matrix-scroll tbody tr:nth-child(3) td:last-child") && document.getElementById("explanation").textContent.includes(document.activeElement.textContent + "×")`,
		},
		{"typing searches the matrix", "#search", []string{"0011"}, `document.querySelectorAll("td[data-target]").length === 1`},
		{"typing searches the applications", "#card-search", []string{"0003"}, `document.querySelectorAll(".card h3").length === 2 && document.querySelector("#cards h3").textContent === "application-0003"`},
		{"a search without result says so", "#card-search", []string{"zzz"}, `document.getElementById("card-pager").textContent === "no applications found"`},
		{"the theme changes by keyboard", "#theme", []string{kb.Enter, kb.Enter}, `document.documentElement.dataset.theme === "dark"`},
	} {
		if err := page.press(c.selector, c.keys...); err != nil {
			return err
		}
		if err := t.holds(page, c.name, c.want); err != nil {
			return err
		}
	}
	return page.eval(`document.getElementById("theme").click(); for (const id of ["search", "card-search"]) { const e = document.getElementById(id); e.value = ""; e.dispatchEvent(new Event("input")); }`, nil)
}

// checkHostile looks for what markup in a profile would have made.
func checkHostile(t *table, page *tab) error {
	err := t.holds(page, "markup in a profile is shown, not obeyed",
		`document.querySelectorAll("img, iframe, body b").length === 0 && typeof window.hacked === "undefined" && document.body.textContent.includes("<img src=x")`)
	return err
}

// looks are the ways the page is looked at.
var looks = []look{
	{name: "light", scheme: "light", width: 1280, height: 2400},
	{name: "dark", scheme: "dark", width: 1280, height: 2400},
	{name: "phone", scheme: "light", width: 390, height: 2400},
	{name: "phone-dark", scheme: "dark", width: 390, height: 2400},
	{name: "narrow", scheme: "light", width: 360, height: 2400},
}

func checkLooks(t *table, dir string, page *tab) error {
	// The searches above take a moment to end.
	if err := page.press(""); err != nil {
		return err
	}
	for _, l := range looks {
		if err := page.show(l); err != nil {
			return err
		}
		faults, err := page.text(accessible)
		if err != nil {
			return err
		}
		t.check("accessible, "+l.name, faults)
		if err := page.keep(dir, l); err != nil {
			return err
		}
	}
	return nil
}

// Goals for 2,000 applications.
const (
	largestPage = 10_000_000
	openGoal    = 3 * time.Second
)

func checkLarge(ctx context.Context, t *table, dir string, page *tab) error {
	var size int64
	if err := page.eval(`new TextEncoder().encode(document.documentElement.outerHTML).length`, &size); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(dir, "report.html")); err == nil {
		size = info.Size()
	}
	t.Logf("2,000 applications, %s: %.1f MB, open after %.2f s (goal %v)", t.place, float64(size)/1e6, page.took.Seconds(), openGoal)
	large := ""
	if size > largestPage {
		large = fmt.Sprintf("%d bytes", size)
	}
	t.check("2,000 applications are 10 MB at most", large)
	err := t.holds(page, "2,000 applications: a page of the matrix is shown",
		`document.documentElement.dataset.ready === "true" && document.querySelectorAll("td[data-target]").length === 1600`)
	if err != nil {
		return err
	}
	if err := page.press("#search", "1234"); err != nil {
		return err
	}
	err = t.holds(page, "2,000 applications: the search finds one",
		`document.querySelectorAll("td[data-target]").length === 1`)
	if err != nil {
		return err
	}
	err = t.holds(page, "2,000 applications: the matrix says that it is approximate", `document.getElementById("approximate") !== null`)
	if err != nil {
		return err
	}
	if err := checkWhatIf(ctx, t, page, "measured-0000", "measured-0001", "measured-0002"); err != nil {
		return err
	}
	if err := checkDownload(ctx, t, page); err != nil {
		return err
	}
	return page.keep(dir, look{name: "large", scheme: "light", width: 1280, height: 900})
}
