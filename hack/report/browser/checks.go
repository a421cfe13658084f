package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp/kb"

	"bandmate.dev/bandmate/predictor"
)

// checkEmpty looks at the report of an empty store.
func checkEmpty(ctx context.Context, t *table, _, address string) error {
	page, done, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer done()
	said, err := page.text(`!document.getElementById("empty").hidden && document.getElementById("content").hidden`)
	if err != nil {
		return err
	}
	t.check("an empty store says what to do", unlessTrue(said))
	t.check("an empty store: nothing fails, nothing is fetched", page.quiet(address))
	return nil
}

func unlessTrue(said string) string {
	if said == "true" {
		return ""
	}
	return "is " + said
}

// checkSmall looks at everything on the report of a few applications, with
// hostile texts among them.
func checkSmall(ctx context.Context, t *table, dir, address string) error {
	page, done, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer done()
	for _, step := range []func(context.Context, *table, string, *tab) error{
		checkCells, checkWhatIf, checkKeyboard, checkHostile, checkLooks,
	} {
		if err := step(ctx, t, dir, page); err != nil {
			return err
		}
	}
	t.check("no error on the console, no request leaves", page.quiet(address))
	return nil
}

// near is how far a number of the page may be from that of predict: rounding,
// amplified by an iteration that ends when its steps are small.
const near = 1e-9

func apart(got, want float64) bool { return !(math.Abs(got-want) <= near*math.Abs(want)) }

func (t *table) predict(ctx context.Context, dir string, names ...string) (p predictor.Prediction, err error) {
	out, err := t.ask(ctx, dir, append([]string{"predict", "-o", "json"}, names...)...)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(out, &p)
}

// checkCells holds every cell of the matrix to `bandmate predict`.
func checkCells(ctx context.Context, t *table, dir string, page *tab) error {
	var cells []struct {
		Target, Corunner string
		Slowdown         float64
	}
	err := page.eval(`(() => { const apps = JSON.parse(document.getElementById("data").textContent).applications;
		return [...document.querySelectorAll("td[data-target]")].map((e) => ({Target: apps[e.dataset.target].name, Corunner: apps[e.dataset.corunner].name, Slowdown: Number(e.dataset.slowdown)})); })()`, &cells)
	if err != nil {
		return err
	}
	var faults []string
	for _, cell := range cells {
		p, err := t.predict(ctx, dir, cell.Target, cell.Corunner)
		if err != nil {
			return err
		}
		if apart(cell.Slowdown, float64(p.Slowdown)) {
			faults = append(faults, fmt.Sprintf("%s beside %s: %v, predict says %v", cell.Target, cell.Corunner, cell.Slowdown, p.Slowdown))
		}
	}
	if len(cells) != 14*14 {
		faults = append(faults, fmt.Sprintf("%d cells", len(cells)))
	}
	t.check(fmt.Sprintf("%d cells of the matrix are what predict -o json says", len(cells)), strings.Join(faults, "; "))
	return nil
}

// checkWhatIf chooses three applications by keyboard.
func checkWhatIf(ctx context.Context, t *table, dir string, page *tab) error {
	names := []string{"application-0000", "application-0004", "application-0009"}
	if err := page.press("#clear", kb.Enter); err != nil {
		return err
	}
	for _, name := range names {
		if err := page.press("#add", name, kb.Enter); err != nil {
			return err
		}
	}
	var rows [][3]float64
	err := page.eval(`[...document.querySelectorAll("#answer td[data-slowdown]")].map((e) => [e.dataset.slowdown, e.dataset.low, e.dataset.high].map(Number))`, &rows)
	if err != nil {
		return err
	}
	var faults []string
	if len(rows) != len(names) {
		faults = append(faults, fmt.Sprintf("%d answers", len(rows)))
	}
	for i, row := range rows {
		others := append(append([]string{names[i]}, names[:i]...), names[i+1:]...)
		p, err := t.predict(ctx, dir, others...)
		if err != nil {
			return err
		}
		if apart(row[0], float64(p.Slowdown)) || apart(row[1], float64(p.Interval.Low)) || apart(row[2], float64(p.Interval.High)) {
			faults = append(faults, fmt.Sprintf("%s: %v, predict says %v %v", names[i], row, p.Slowdown, p.Interval))
		}
	}
	t.check("what-if of three, chosen by keyboard: slowdowns and intervals are what predict -o json says", strings.Join(faults, "; "))
	return nil
}

// checkKeyboard sorts, searches and walks without a mouse.
func checkKeyboard(_ context.Context, t *table, _ string, page *tab) error {
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
		said, err := page.text(c.want)
		if err != nil {
			return err
		}
		t.check(c.name, unlessTrue(said))
	}
	return page.eval(`document.getElementById("theme").click(); for (const id of ["search", "card-search"]) { const e = document.getElementById(id); e.value = ""; e.dispatchEvent(new Event("input")); }`, nil)
}

// checkHostile looks for what markup in a profile would have made.
func checkHostile(_ context.Context, t *table, _ string, page *tab) error {
	said, err := page.text(`document.querySelectorAll("img, iframe, body b").length === 0 && typeof window.hacked === "undefined" && document.body.textContent.includes("<img src=x")`)
	if err != nil {
		return err
	}
	t.check("markup in a profile is shown, not obeyed", unlessTrue(said))
	return nil
}

// looks are the ways the page is looked at.
var looks = []look{
	{name: "light", scheme: "light", width: 1280, height: 2400},
	{name: "dark", scheme: "dark", width: 1280, height: 2400},
	{name: "phone", scheme: "light", width: 390, height: 2400},
	{name: "phone-dark", scheme: "dark", width: 390, height: 2400},
}

func checkLooks(_ context.Context, t *table, dir string, page *tab) error {
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

func checkLarge(ctx context.Context, t *table, dir, address string) error {
	info, err := os.Stat(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	page, done, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer done()
	fmt.Fprintf(t.out, "2,000 applications: %.1f MB, open after %.2f s (goal %v)\n", float64(info.Size())/1e6, page.took.Seconds(), openGoal)
	large := ""
	if info.Size() > largestPage {
		large = fmt.Sprintf("%d bytes", info.Size())
	}
	t.check("2,000 applications are 10 MB at most", large)
	said, err := page.text(`document.documentElement.dataset.ready === "true" && document.querySelectorAll("td[data-target]").length === 1600`)
	if err != nil {
		return err
	}
	t.check("2,000 applications: a page of the matrix is shown", unlessTrue(said))
	if err := page.press("#search", "1234"); err != nil {
		return err
	}
	said, err = page.text(`document.querySelectorAll("td[data-target]").length === 1`)
	if err != nil {
		return err
	}
	t.check("2,000 applications: the search finds one", unlessTrue(said))
	if err := page.keep(dir, look{name: "large", scheme: "light", width: 1280, height: 900}); err != nil {
		return err
	}
	t.check("2,000 applications: nothing fails, nothing is fetched", page.quiet(address))
	return nil
}
