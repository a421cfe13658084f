package report

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/store"
)

// accessible returns what a check like axe's finds wrong with the page.
//
//go:embed testdata/accessible.js
var accessible string

// TestBrowser opens reports in a headless Chromium, from the disk and as
// `bandmate serve` serves them, and checks what a reader relies on: that nothing
// fails and nothing is fetched, that the numbers are those of `bandmate predict`,
// that it works by keyboard and is accessible, and that 2,000 applications are
// still quick. It keeps pages and screenshots. hack/e2e-report.sh runs it.
func TestBrowser(t *testing.T) {
	bandmate, folder := os.Getenv("BANDMATE_E2E_CLI"), os.Getenv("BANDMATE_E2E_ARTIFACTS")
	if bandmate == "" || folder == "" {
		t.Skip("runs in hack/e2e-report.sh only")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	for _, made := range []situation{
		{"empty", nil, checkEmpty},
		{"one", MakeMeasured(1, 5), checkOne},
		{"curves", MakeTransferred(14, 3), checkCurves},
		{"memory", withCurves(MakeMeasured(14, 3)), checkMemory},
		{"network", withCurves(MakeCommunicating(14, 3)), checkNetwork},
		{"services", services(t), checkServices},
		{"large", withCurves(MakeMeasured(2222, 3)), checkLarge},
	} {
		look := table{T: t, bandmate: bandmate}
		if err := look.look(ctx, folder, made); err != nil {
			t.Fatalf("%s: %v", made.name, err)
		}
	}
}

// table is the checks of one store.
type table struct {
	*testing.T
	bandmate string
	// store is the folder of profiles that is looked at, place how.
	store, place string
	answers      map[string]predictor.Prediction // of the store
}

// check is a subtest that fails if there is a fault.
func (t *table) check(name, fault string) {
	t.Run(t.place+": "+name, func(t *testing.T) {
		if fault != "" {
			t.Error(fault)
		}
	})
}

// withCurves returns the profiles that a folder takes.
func withCurves(profiles []*v1alpha1.ApplicationProfile) []*v1alpha1.ApplicationProfile {
	return slices.DeleteFunc(profiles, func(p *v1alpha1.ApplicationProfile) bool { return len(p.Spec.Curves) == 0 })
}

// situation is a store and what is checked of its report.
type situation struct {
	name     string
	profiles []*v1alpha1.ApplicationProfile
	check    func(ctx context.Context, t *table, dir string, page *tab) error
}

// look makes the report of a situation and checks it from the disk, then served.
func (t *table) look(ctx context.Context, folder string, s situation) error {
	dir := filepath.Join(folder, s.name)
	if err := t.prepare(ctx, dir, s.profiles); err != nil {
		return err
	}
	t.place = s.name + " from the disk"
	if err := t.open(ctx, dir, "file://"+filepath.Join(dir, "report.html"), s.check); err != nil {
		return err
	}
	address, stop, err := t.serve(ctx, dir)
	if err != nil {
		return err
	}
	t.place = s.name + " served"
	if err := t.open(ctx, filepath.Join(dir, "served"), address, s.check); err != nil {
		return errors.Join(err, stop())
	}
	fault := ""
	if err := stop(); err != nil {
		fault = err.Error()
	}
	t.check("the server ends when asked to", fault)
	return nil
}

// open opens a page, checks it, and that it was quiet.
func (t *table) open(ctx context.Context, dir, address string, check func(context.Context, *table, string, *tab) error) error {
	page, done, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer done()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := check(ctx, t, dir, page); err != nil {
		return err
	}
	t.check("no error on the console, no request leaves", page.quiet(address))
	return nil
}

// prepare makes a store and its report.
func (t *table) prepare(ctx context.Context, dir string, profiles []*v1alpha1.ApplicationProfile) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	t.store, t.answers = filepath.Join(dir, "store"), map[string]predictor.Prediction{}
	s, err := store.Open(t.store)
	if err != nil {
		return err
	}
	if len(profiles) > 0 {
		if err := s.Put(MakeMachine()); err != nil {
			return err
		}
	}
	for _, p := range profiles {
		if err := s.Put(p); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err = t.ask(ctx, "report", "--output", filepath.Join(dir, "report.html"))
	return err
}

// serve starts `bandmate serve` and returns the address of its page, and what asks
// it to end and waits for that.
func (t *table) serve(ctx context.Context, dir string) (address string, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, t.bandmate, "serve", "--listen", "127.0.0.1:0", "-o", "json", "--store", t.store)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return "", nil, errors.Join(err, log.Close())
	}
	stop = func() error {
		return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait(), log.Close())
	}
	var said struct{ URL string }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		return "", nil, errors.Join(fmt.Errorf("bandmate serve said no address: %w", err), stop())
	}
	return said.URL, stop, nil
}

// ask runs bandmate on the store.
func (t *table) ask(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.bandmate, append(args, "--store", t.store)...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, exit.Stderr)
	}
	return out, err
}

// openLimit is how long a page may be looked at, on a machine that does other things.
const openLimit = 10 * time.Minute
