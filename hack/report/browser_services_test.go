package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/service"
)

// services returns the profiles of the example in the guide: redis, a service, and triad.
func services(t *testing.T) []*v1alpha1.ApplicationProfile {
	t.Helper()
	files, err := filepath.Glob("../../docs/example/services/applications/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("%q: %v: want the profiles of redis and triad", files, err)
	}
	var profiles []*v1alpha1.ApplicationProfile
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o, err := v1alpha1.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := o.(*v1alpha1.ApplicationProfile)
		if !ok {
			t.Fatalf("%s holds a %T", file, o)
		}
		profiles = append(profiles, p)
	}
	return profiles
}

// checkServices asks what a neighbor does to p99 at a load.
func checkServices(ctx context.Context, t *table, dir string, page *tab) error {
	if err := page.press("#clear", kb.Enter); err != nil {
		return err
	}
	for _, name := range []string{"redis", "triad"} {
		if err := page.press("#add", name, kb.Enter); err != nil {
			return err
		}
	}
	var err error
	if strings.HasSuffix(t.place, " served") {
		err = t.askForServices(ctx, page)
	} else {
		err = t.holds(page, "from a file the page says what tells p99", `((d) => d.querySelectorAll("input").length === 0 && d.textContent.includes("redis is a service") && d.textContent.includes("bandmate serve") && d.textContent.includes("--load"))(document.getElementById("demands"))`)
	}
	if err != nil {
		return err
	}
	return checkLooks(t, dir, page)
}

const (
	loadField  = "#demands input[name=load]"
	limitField = "#demands input[name=maxP99]"
)

// askForServices holds the answers to typed demands to those of `bandmate predict`.
func (t *table) askForServices(ctx context.Context, page *tab) error {
	err := t.holds(page, "a service has fields for its load and limit, nothing else has", `document.querySelectorAll("#demands input").length === 2`)
	if err != nil {
		return err
	}
	for _, demand := range []struct {
		load, limit string
		kept        bool
	}{
		{"5000", "", false}, // nobody asks
		{"5000", "1ms", false},
		{"5000", "1.5h", true},
		{"9000", "1h", false}, // above the saturation beside triad
		{"20000", "1h", false},
	} {
		if err := page.retype(demand.load, demand.limit); err != nil {
			return err
		}
		if err := t.checkService(ctx, page, demand.load, demand.limit, demand.kept); err != nil {
			return err
		}
	}
	for _, wrong := range []struct{ load, limit, says string }{
		{"fast", "", "want requests per second"},
		{"0", "", "want requests per second"},
		{"5000", "soon", "want a duration"},
		{"5000", "0s", "want a duration"},
		{"", "2ms", "needs a load"},
	} {
		if err := page.retype(wrong.load, wrong.limit); err != nil {
			return err
		}
		err := t.holds(page, fmt.Sprintf("a load of %q and a limit of %q are not asked for", wrong.load, wrong.limit),
			fmt.Sprintf(`document.querySelectorAll("#demands [aria-invalid=true]").length === 1 && document.querySelector("#answer .services") === null && document.getElementById("answer").textContent.includes(%q)`, wrong.says))
		if err != nil {
			return err
		}
	}
	return page.retype("5000", "1ms")
}

// retype replaces what the fields of the service hold.
func (t *tab) retype(load, limit string) error {
	for _, field := range [][2]string{{loadField, load}, {limitField, limit}} {
		if err := t.eval(fmt.Sprintf("((e) => { e.value = ''; e.dispatchEvent(new Event('input')); })(document.querySelector(%q))", field[0]), nil); err != nil {
			return err
		}
		if err := t.press(field[0], field[1]); err != nil {
			return err
		}
	}
	return nil
}

// shownService is what the card of a service says.
type shownService struct{ Alone, Beside, Low, High, SaturationAlone, SaturationBeside, Kept, Text string }

// checkService holds the card of redis beside triad to `bandmate predict`.
func (t *table) checkService(ctx context.Context, page *tab, load, limit string, kept bool) error {
	name := fmt.Sprintf("redis beside triad at %s requests/s, limit %q", load, limit)
	card := fmt.Sprintf(`#answer[aria-busy=false] .services [data-load="%s"]`, load)
	if limit == "" {
		card += ":not([data-limit])"
	} else {
		d, err := time.ParseDuration(limit)
		if err != nil {
			return err
		}
		card += fmt.Sprintf(`[data-limit="%v"]`, d.Seconds())
	}
	if err := t.holds(page, name+": there is an answer", fmt.Sprintf("document.querySelectorAll(%q).length === 1", card)); err != nil {
		return err
	}
	var shown shownService
	err := page.eval(fmt.Sprintf(`((e) => ({Alone: e.dataset.alone ?? "", Beside: e.dataset.beside ?? "", Low: e.dataset.low ?? "", High: e.dataset.high ?? "",
		SaturationAlone: e.dataset.saturationAlone, SaturationBeside: e.dataset.saturationBeside, Kept: e.dataset.kept ?? "", Text: e.textContent}))(document.querySelector(%q))`, card), &shown)
	if err != nil {
		return err
	}
	out, err := t.ask(ctx, "predict", "redis", "triad", "--load", load, "-o", "json")
	if err != nil {
		return err
	}
	var p advisor.ServicePrediction
	if err := json.Unmarshal(out, &p); err != nil {
		return err
	}
	fault := shown.differs(p.Service)
	if want := map[bool]string{true: strconv.FormatBool(kept)}[limit != ""]; shown.Kept != want {
		fault += fmt.Sprintf("; kept: %q, want %q", shown.Kept, want)
	}
	for _, warning := range p.Service.Warnings {
		if !strings.Contains(shown.Text, warning) {
			fault += "; does not say " + warning
		}
	}
	t.check(name+": p99, interval and saturation are what predict -o json says", fault)
	return nil
}

// differs says where the card differs from an answer.
func (s shownService) differs(want *service.Answer) string {
	interval := service.LatencyInterval{}
	if want.P99Interval != nil {
		interval = *want.P99Interval
	}
	fault := ""
	for _, c := range []struct {
		what, shown string
		want        *float64
	}{
		{"p99 alone", s.Alone, want.P99AloneSeconds},
		{"p99 beside", s.Beside, want.P99BesideSeconds},
		{"low end", s.Low, &interval.Low},
		{"high end", s.High, interval.High},
		{"saturation alone", s.SaturationAlone, &want.SaturationAlone},
		{"saturation beside", s.SaturationBeside, &want.SaturationBeside},
	} {
		missing := c.want == nil || *c.want == 0
		got, err := strconv.ParseFloat(c.shown, 64)
		if missing != (err != nil) || !missing && apart(got, *c.want) {
			fault += fmt.Sprintf("; %s: %q", c.what, c.shown)
		}
	}
	if fault != "" {
		fault += fmt.Sprintf("; predict says %+v", *want)
	}
	return strings.TrimPrefix(fault, "; ")
}
