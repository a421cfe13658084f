package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a page in the browser, and what went on in it.
type tab struct {
	ctx  context.Context //nolint:containedctx // it is the tab
	took time.Duration   // until the page was ready

	mu       sync.Mutex
	faults   []string
	requests []string
}

// open opens a page and waits until it has drawn itself.
func open(ctx context.Context, address string) (*tab, context.CancelFunc, error) {
	ctx, closeTab := chromedp.NewContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	t := &tab{ctx: ctx}
	chromedp.ListenTarget(ctx, t.listen)
	done := func() { cancel(); closeTab() }
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(1280, 900, 1, false)); err != nil {
		done()
		return nil, nil, fmt.Errorf("starting the browser: %w", err)
	}
	start := time.Now()
	err := chromedp.Run(ctx, chromedp.Navigate(address), chromedp.Poll(`document.readyState === "complete"`, nil))
	t.took = time.Since(start)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("opening %s: %w", address, err)
	}
	return t, done, nil
}

func (t *tab) listen(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.faults = append(t.faults, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		t.faults = append(t.faults, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		t.faults = append(t.faults, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		t.requests = append(t.requests, e.Request.URL)
	}
}

// quiet returns the faults, and requests for anything but the page and predictions.
func (t *tab) quiet(address string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	faults := t.faults
	for _, url := range t.requests {
		if url != address && url != address+"favicon.ico" && !strings.HasPrefix(url, address+"api/v1/predict?") && !strings.HasPrefix(url, "blob:") && !strings.HasPrefix(url, "data:") {
			faults = append(faults, "request for "+url)
		}
	}
	return strings.Join(faults, "; ")
}

// eval runs an expression and decodes its value.
func (t *tab) eval(expression string, into any, options ...chromedp.EvaluateOption) error {
	if err := chromedp.Run(t.ctx, chromedp.Evaluate(expression, into, options...)); err != nil {
		return fmt.Errorf("%s: %w", expression, err)
	}
	return nil
}

// text is eval of an expression that gives a text.
func (t *tab) text(expression string) (string, error) {
	var s string
	err := t.eval("String("+expression+")", &s)
	return s, err
}

// press focuses an element and presses keys.
func (t *tab) press(selector string, keys ...string) error {
	if selector != "" {
		if err := t.eval(fmt.Sprintf("document.querySelector(%q).focus()", selector), nil); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := chromedp.Run(t.ctx, chromedp.KeyEvent(key)); err != nil {
			return err
		}
	}
	// A search waits a moment for the next letter.
	return chromedp.Run(t.ctx, chromedp.Sleep(300*time.Millisecond))
}

// look is how the page is looked at.
type look struct {
	name          string
	scheme        string // prefers-color-scheme
	width, height int64
}

// show makes the page look so.
func (t *tab) show(l look) error {
	return chromedp.Run(t.ctx,
		emulation.SetDeviceMetricsOverride(l.width, l.height, 1, l.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}),
	)
}

// keep stores a screenshot.
func (t *tab) keep(folder string, l look) error {
	if err := t.show(l); err != nil {
		return err
	}
	if err := t.eval("scrollTo(0, 0)", nil); err != nil {
		return err
	}
	var picture []byte
	if err := chromedp.Run(t.ctx, chromedp.CaptureScreenshot(&picture)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, l.name+".png"), picture, 0o644)
}
