// Command browser opens reports in a headless Chromium and checks what a reader
// relies on: that nothing fails and nothing is fetched, that the numbers are
// those of `bandmate predict`, that it works by keyboard and is accessible, and
// that 2,000 applications are still quick. It keeps screenshots.
//
//	browser -bandmate PATH -chromium PATH -artefacts DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"bandmate.dev/bandmate/hack/report"
	"bandmate.dev/bandmate/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped above
	}
}

func run(ctx context.Context, out io.Writer) error {
	bandmate := flag.String("bandmate", "bandmate", "the program that makes the report")
	chromium := flag.String("chromium", "chromium", "the browser")
	artefacts := flag.String("artefacts", "", "folder for pages and screenshots")
	flag.Parse()
	if *artefacts == "" {
		return errors.New("-artefacts: want a folder")
	}
	folder, err := filepath.Abs(*artefacts)
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(*chromium), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	t := &table{out: out, bandmate: *bandmate}
	for _, made := range []struct {
		name  string
		count int
		check func(context.Context, *table, string, string) error
	}{
		{"empty", 0, checkEmpty},
		{"small", 14, checkSmall},
		{"large", 2000, checkLarge},
	} {
		dir := filepath.Join(folder, made.name)
		page, err := t.prepare(ctx, dir, made.count)
		if err == nil {
			err = made.check(ctx, t, dir, page)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", made.name, err)
		}
	}
	return t.sum()
}

// table is the checks done.
type table struct {
	out          io.Writer
	bandmate     string
	done, failed int
}

func (t *table) check(name string, fault string) {
	t.done++
	if fault == "" {
		fmt.Fprintln(t.out, "ok   ", name)
		return
	}
	t.failed++
	fmt.Fprintf(t.out, "FAIL  %s: %s\n", name, fault)
}

func (t *table) sum() error {
	fmt.Fprintf(t.out, "%d checks, %d failed\n", t.done, t.failed)
	if t.failed > 0 {
		return fmt.Errorf("%d checks failed", t.failed)
	}
	return nil
}

// prepare makes a store and its report, and returns the page's address.
func (t *table) prepare(ctx context.Context, dir string, count int) (string, error) {
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return "", err
	}
	if count > 0 {
		if err := s.Put(report.MakeMachine()); err != nil {
			return "", err
		}
	}
	for _, p := range report.MakeCarried(count, 3) {
		if err := s.Put(p); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "report.html")
	if _, err := t.ask(ctx, dir, "report", "--output", file); err != nil {
		return "", err
	}
	return "file://" + file, nil
}

// ask runs bandmate on the store of dir.
func (t *table) ask(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.bandmate, append(args, "--store", filepath.Join(dir, "store"))...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, exit.Stderr)
	}
	return out, err
}

// openLimit is how long a page may take on a machine that does other things.
const openLimit = time.Minute
