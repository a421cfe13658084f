// Command thousands measures the command line on a store of thousands of profiles, and
// prints a table of the median times and of the most memory.
//
//	go build -o /tmp/bandmate ./cmd/bandmate
//	go run ./hack/thousands -bandmate /tmp/bandmate
//
// The profiles are varied copies of those in docs/example. -keep keeps the store. Where
// there is Chromium, it opens the report.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

func main() {
	var o options
	flag.StringVar(&o.program, "bandmate", "", "the program to measure (default: it is built)")
	flag.StringVar(&o.example, "example", "docs/example/store", "store to copy profiles of")
	flag.StringVar(&o.queue, "queue", "cmd/bandmate/testdata/width", "folder of squeue.json and sinfo.json")
	flag.IntVar(&o.profiles, "profiles", 10_000, "number of profiles")
	flag.IntVar(&o.runs, "runs", 5, "runs of each command; their median is printed")
	flag.StringVar(&o.keep, "keep", "", "make the store here, or measure the one that is here, and keep it")
	flag.Parse()
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	program, example, queue, keep string
	profiles, runs                int
}

func (o *options) run(w io.Writer) (err error) {
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "thousands"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if o.program == "" {
		built, failed := os.MkdirTemp("", "bandmate")
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, os.RemoveAll(built)) }()
		o.program = filepath.Join(built, "bandmate")
		if out, err := exec.Command("go", "build", "-o", o.program, "./cmd/bandmate").CombinedOutput(); err != nil {
			return fmt.Errorf("building bandmate: %w: %s", err, out)
		}
	}
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	examples, err := store.Open(o.example)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "applications")); err != nil {
		if err := o.fill(s, examples); err != nil {
			return err
		}
	}
	return o.measure(w, dir)
}

// fill makes the profiles: the first ones as they are.
func (o *options) fill(s, from *store.Store) error {
	examples, broken, err := from.Applications()
	if err != nil || len(broken) > 0 || len(examples) == 0 {
		return fmt.Errorf("%s: %d profiles, %v, %w", from.Dir(), len(examples), broken, err)
	}
	if err := os.CopyFS(filepath.Join(s.Dir(), "machines"), os.DirFS(filepath.Join(from.Dir(), "machines"))); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range o.profiles {
		p := examples[i%len(examples)].DeepCopy()
		if i >= len(examples) {
			vary(p, random)
			p.Name = fmt.Sprintf("%s-%05d", p.Name, i)
		}
		text, err := v1alpha1.Encode(p)
		if err != nil {
			return err
		}
		file := filepath.Join(s.Dir(), "applications", p.Name+"@"+p.Spec.Machine.Name+".yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// vary changes the traffic of an application and how much it loses.
func vary(p *v1alpha1.ApplicationProfile, random *rand.Rand) {
	traffic, loss := 0.5+random.Float64(), 0.5+random.Float64()/2
	p.Spec.Contentiousness.ReadBytesPerSecond *= traffic
	p.Spec.Contentiousness.WriteBytesPerSecond *= traffic
	for _, c := range p.Spec.Curves {
		for i := range c.Points {
			c.Points[i].NormalizedPerformance = 1 - loss*(1-c.Points[i].NormalizedPerformance)
		}
	}
}

// command is a command line to measure, and what to do before each run.
type command struct {
	title  string
	args   []string
	before func() error
	once   bool
}

func (o *options) measure(w io.Writer, dir string) error {
	changed := filepath.Join(dir, "applications", "xz@cloud-vm.yaml")
	touched := 0
	change := func() error {
		text, err := os.ReadFile(changed)
		if err != nil {
			return err
		}
		touched++
		lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })
		return os.WriteFile(changed, []byte(fmt.Sprintf("# change %d\n", touched)+strings.Join(lines, "")), 0o600)
	}
	nodes, err := os.ReadFile(filepath.Join(o.queue, "sinfo.json"))
	if err != nil {
		return err
	}
	sinfo := filepath.Join(dir, "sinfo.json")
	if err := os.WriteFile(sinfo, []byte(strings.ReplaceAll(string(nodes), "bandmate-machine=here", "bandmate-machine=cloud-vm")), 0o600); err != nil {
		return err
	}
	queue := []string{"--squeue", filepath.Join(o.queue, "squeue.json"), "--sinfo", sinfo}
	commands := []command{
		{title: "first call", args: []string{"predict", "xz", "triad"}, before: func() error { return os.RemoveAll(filepath.Join(dir, ".kept")) }, once: true},
		{title: "`predict`", args: []string{"predict", "xz", "triad"}},
		{title: "`predict` after a change of one profile", args: []string{"predict", "xz", "triad"}, before: change},
		{title: "`slurm advise`", args: append([]string{"slurm", "advise", "--application", "xz", "-p", "all"}, queue...)},
		{title: "`profiles list`", args: []string{"profiles", "list"}},
		{title: "`matrix -o csv`", args: []string{"matrix", "-o", "csv"}, once: true},
		{title: "`matrix -o json`", args: []string{"matrix", "-o", "json"}, once: true},
		{title: "`predict` after that", args: []string{"predict", "xz", "triad"}},
		{title: "`report`", args: []string{"report", "-o", filepath.Join(dir, "report.html")}, once: true},
	}
	time.Sleep(3 * time.Second) // a file that just changed is read again
	fmt.Fprintf(w, "| %d profiles | wall time | CPU time | memory |\n|---|---|---|---|\n", o.profiles)
	for _, c := range commands {
		if err := o.time(w, dir, c); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return browse(w, filepath.Join(dir, "report.html"))
}

// waited is a line in which hack/report says what a reader of a page waits for.
var waited = regexp.MustCompile(`(?m)^.*_test\.go:[0-9]+: (.*) after ([0-9.]+ s)$`)

// browse opens a report in Chromium and prints what a reader waits for.
func browse(w io.Writer, report string) error {
	if path, _ := exec.LookPath("chromium"); path == "" {
		fmt.Fprintln(w, "\nThe report was not opened: chromium is missing.")
		return nil
	}
	report, err := filepath.Abs(report)
	if err != nil {
		return err
	}
	info, err := os.Stat(report)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestOpen$", ".")
	cmd.Dir, cmd.Env = filepath.Join("hack", "report"), append(os.Environ(), "BANDMATE_E2E_PAGE="+report)
	out, err := cmd.CombinedOutput()
	steps := waited.FindAllSubmatch(out, -1)
	if err != nil || len(steps) == 0 {
		return fmt.Errorf("opening %s: %w: %s", report, err, out)
	}
	for _, step := range steps {
		fmt.Fprintf(w, "| the page of %d MB in Chromium: %s | %s | | |\n", info.Size()/1e6, step[1], step[2])
	}
	return nil
}

func (o *options) time(w io.Writer, dir string, c command) error {
	runs := o.runs
	if c.once {
		runs = 1
	}
	var walls, cpus []time.Duration
	var memory int64
	for range runs {
		if c.before != nil {
			if err := c.before(); err != nil {
				return err
			}
		}
		cmd := exec.Command(o.program, append(c.args, "--store", dir, "-q")...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, &stderr)
		}
		walls = append(walls, time.Since(start))
		cpus = append(cpus, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = max(memory, usage.Maxrss<<10)
		}
	}
	fmt.Fprintf(w, "| %s | %.2f s | %.2f s | %d MB |\n", c.title, median(walls).Seconds(), median(cpus).Seconds(), memory/1e6)
	return nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
