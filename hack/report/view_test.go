package report

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"bandmate.dev/bandmate/report/page"
)

// browser is what the page needs of a browser to show itself. text(id) returns what an
// element shows, click(id) clicks it, and saved is the file that the page saved last.
const browser = `
class Shown {
	constructor(name) { Object.assign(this, { name, children: [], dataset: {}, style: {}, attributes: {}, listeners: {}, value: "" }); }
	append(...children) { this.children.push(...children); }
	replaceChildren(...children) { this.children = children; }
	setAttribute(name, value) { this.attributes[name] = String(value); }
	addEventListener(kind, listener) { this.listeners[kind] = listener; }
	querySelector() { return this.inner ??= new Shown("inner"); }
	querySelectorAll() { return []; }
	focus() {}
	click() { if (this.name === "a") saved.name = this.attributes.download; else this.listeners.click({}); }
	get textContent() { return this.children.map((child) => typeof child === "string" ? child : child.textContent).join("|"); }
	set textContent(text) { this.children = [text]; }
}
var saved = { name: "", text: "" };
const elements = {};
const withText = (text) => { const e = new Shown("script"); e.textContent = text; return e; };
elements.data = withText(parts[0]);
for (const id of ["order", "card-order"]) { elements[id] = new Shown(id); elements[id].value = "name"; }
var document = {
	getElementById: (id) => elements[id] ??= new Shown(id),
	querySelectorAll: () => parts.slice(1).map(withText),
	createElement: (name) => new Shown(name), createElementNS: (_, name) => new Shown(name),
	documentElement: new Shown("html"),
};
class Blob { constructor(texts) { this.text = texts.join(""); } }
var URL = { createObjectURL(blob) { saved.text = blob.text; return "blob:"; }, revokeObjectURL() {} };
var setTimeout = () => 0, clearTimeout = () => {};
var text = (id) => document.getElementById(id).textContent, click = (id) => document.getElementById(id).click();
`

// showPage returns the page of n profiles without a browser.
func showPage(t *testing.T, n int) *goja.Runtime {
	t.Helper()
	profiles := makeProfiles(n, 7)
	var html bytes.Buffer
	if err := page.Write(&html, page.Content{Applications: profiles, Predictors: compiled(t, profiles)}); err != nil {
		t.Fatal(err)
	}
	var parts, scripts []string
	for _, script := range regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(html.String(), -1) {
		if script[1] == "" {
			scripts = append(scripts, script[2])
		} else {
			parts = append(parts, script[2])
		}
	}
	vm := newMachine(t)
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	if err := vm.Set("parts", vm.NewArray(list...)); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.RunString(browser + strings.Join(scripts, "\n")); err != nil {
		t.Fatal(err)
	}
	return vm
}

func evaluate(t *testing.T, vm *goja.Runtime, expression string) string {
	t.Helper()
	v, err := vm.RunString(expression)
	if err != nil {
		t.Fatal(err)
	}
	return v.String()
}

// TestWhatIsApproximated shows pages that carry every pair, and pages that approximate them:
// these say "about" of every number. The CSV of both says what a number rests on.
func TestWhatIsApproximated(t *testing.T) {
	for _, test := range []struct {
		applications int
		exact        bool
		file         string
		lines        int
	}{
		{3, true, "bandmate-matrix.csv", 1 + 9},
		{401, false, "bandmate-matrix-rows-1-40-columns-1-40.csv", 1 + 40*40},
	} {
		vm := showPage(t, test.applications)
		cards := evaluate(t, vm, `text("cards")`)
		for _, fact := range []string{"Suffers on average", "Causes on average", "Suffers most by"} {
			number := regexp.MustCompile(regexp.QuoteMeta(fact) + `\|[^×]*?(about )?[0-9.]+×`).FindStringSubmatch(cards)
			if number == nil || (number[1] == "") != test.exact {
				t.Errorf("%d applications, %s: %q", test.applications, fact, number)
			}
		}
		evaluate(t, vm, `click("matrix-csv")`)
		if name := evaluate(t, vm, "saved.name"); name != test.file {
			t.Errorf("%d applications: the file is %s, want %s", test.applications, name, test.file)
		}
		lines, err := csv.NewReader(strings.NewReader(evaluate(t, vm, "saved.text"))).ReadAll()
		if err != nil || len(lines) != test.lines || strings.Join(lines[0], ",") != "target,corunner,slowdown,low,high,basis" {
			t.Fatalf("%d applications: %d lines, want %d: %v", test.applications, len(lines), test.lines, err)
		}
		for _, line := range lines[1:] {
			known, bounded := line[2] != "", line[3] != "" && line[4] != ""
			if bounded != (known && test.exact) || known && (line[5] == "approximate") == test.exact || !known && line[5] != "" {
				t.Fatalf("%d applications: %q", test.applications, line)
			}
		}
	}
}
