package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"bandmate.dev/bandmate/report/page"
)

// download is an expression for what the page saves as all of its data.
const download = `(async () => {
	const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
	let saved;
	URL.createObjectURL = (blob) => { saved = blob; return make.call(URL, blob); };
	HTMLAnchorElement.prototype.click = () => {};
	document.getElementById("data-json").click();
	URL.createObjectURL = make; HTMLAnchorElement.prototype.click = click;
	return saved.text();
})()`

// checkDownload holds what the page saves to what `bandmate report -o json` prints.
func checkDownload(ctx context.Context, t *table, shown *tab) error {
	text, err := t.ask(ctx, "report", "-o", "json")
	if err != nil {
		return err
	}
	var saved string
	if err := shown.eval(download, &saved, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }); err != nil {
		return err
	}
	var want, got page.Data
	if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal([]byte(saved), &got)); err != nil {
		return err
	}
	got.Generated, got.Served = want.Generated, false
	fault := ""
	if !reflect.DeepEqual(want, got) {
		fault = fmt.Sprintf("%d applications of %d, or other numbers", len(got.Applications), len(want.Applications))
	}
	t.check("what the page saves is what report -o json prints", fault)
	return nil
}

// TestOpen opens the report that BANDMATE_E2E_PAGE names. It prints what a reader waits
// for: the page, and then what it shows of all applications. hack/thousands runs it.
func TestOpen(t *testing.T) {
	file := os.Getenv("BANDMATE_E2E_PAGE")
	if file == "" {
		t.Skip("BANDMATE_E2E_PAGE names no report; hack/thousands makes one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	shown, done, err := open(ctx, "file://"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var ready bool
	if err := shown.eval(`document.documentElement.dataset.ready === "true"`, &ready); err != nil || !ready {
		t.Fatalf("the page is complete and not ready: %v", err)
	}
	t.Logf("open after %.2f s", shown.took.Seconds())
	for _, step := range []struct{ name, action string }{
		{"ordered by who suffers most", `const o = document.getElementById("order"); o.value = "suffers"; o.dispatchEvent(new Event("change"))`},
		{"sorted by a column", `document.querySelector("#matrix-scroll thead th button").click()`},
	} {
		start := time.Now()
		if err := shown.eval("{"+step.action+"}", nil); err != nil {
			t.Fatal(err)
		}
		var cells int
		if err := shown.eval(`document.querySelectorAll("td[data-target]").length`, &cells); err != nil || cells == 0 {
			t.Fatalf("%s: %d cells, %v", step.name, cells, err)
		}
		t.Logf("%s after %.2f s", step.name, time.Since(start).Seconds())
	}
	if fault := shown.quiet("file://" + file); fault != "" {
		t.Error(fault)
	}
}
