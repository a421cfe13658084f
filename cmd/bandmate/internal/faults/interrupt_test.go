package faults_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/scripttest"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// stage is a point in the life of a command at which it is interrupted.
type stage struct {
	name string
	args func(store string, a *application) []string
	// reach returns once the program is there.
	reach func(s *processtest.Terminal, store string, a *application)
}

func stages() []stage {
	onboarding := func(store string, a *application) []string { return onboardArgs(store, "--", a.path) }
	all := []stage{
		{"starting", onboarding, func(s *processtest.Terminal, _ string, _ *application) { interfererOf(s.T) }},
		{"the first run", onboarding, func(_ *processtest.Terminal, _ string, a *application) {
			a.running()
			a.stay()
		}},
		{"alone", onboarding, func(s *processtest.Terminal, _ string, a *application) {
			a.runUntil(s, "app alone")
			a.stay()
		}},
		{"beside the interferer", onboarding, func(s *processtest.Terminal, _ string, a *application) {
			a.runUntil(s, "app beside 50% reads")
			a.stayDeaf()
		}},
		{"between samples", onboarding, func(_ *processtest.Terminal, store string, a *application) {
			// A run is repeated where the machine was disturbed.
			a.workUntil("a sample", func() bool { return len(journalOf(store)) > 1 })
		}},
		{"measuring the machine", func(store string, _ *application) []string {
			return []string{"machine", "--quick", "--name", "new", "--store", store}
		}, func(s *processtest.Terminal, _ string, _ *application) { s.WaitFor(`the machine`) }},
		{"measuring traffic", func(store string, a *application) []string {
			return []string{"measure", "--store", store, "--machine", "here", "--source", "probe", "--", a.path}
		}, func(s *processtest.Terminal, _ string, a *application) {
			a.runUntil(s, "workload beside")
			a.stay()
		}},
		{"watching the machine", func(store string, _ *application) []string {
			return []string{"measure", "--store", store, "--machine", "here", "--source", "probe", "--duration", "10m"}
		}, func(s *processtest.Terminal, _ string, _ *application) { interfererOf(s.T) }},
		{"counting ticks alone", func(store string, _ *application) []string { return tickedArgs(store, "30") }, func(s *processtest.Terminal, _ string, _ *application) {
			processtest.Eventually(s.T, "the program", func() bool { return sampleRuns(s.T) })
		}},
		{"taking turns with the interferer", func(store string, _ *application) []string { return tickedArgs(store, "1") }, func(s *processtest.Terminal, _ string, _ *application) {
			s.WaitFor("app under pressure")
		}},
		{"checked against whole runs", func(store string, _ *application) []string { return tickedArgs(store, "1") }, func(s *processtest.Terminal, _ string, _ *application) {
			s.WaitFor("a whole run")
		}},
		{
			"demonstrating", func(string, *application) []string { return []string{"demo"} },
			func(s *processtest.Terminal, _ string, _ *application) {
				processtest.Eventually(s.T, "a sample application", func() bool { return sampleRuns(s.T) })
			},
		},
		{
			"finding what to observe", func(_ string, a *application) []string {
				return []string{"observe", "--beside", "sleep 600", "--", a.path}
			},
			func(_ *processtest.Terminal, _ string, a *application) {
				a.running()
				a.stay()
			},
		},
		{
			"observing", func(string, *application) []string {
				return []string{"observe", "--duration", "1h", "--beside", "bandmate sample --scale 900 triad", "--", "bandmate", "sample", "--scale", "900", "pointer-chase"}
			},
			func(s *processtest.Terminal, _ string, _ *application) { s.WaitFor(`sample --scale 900`) },
		},
		{"interfering", func(string, *application) []string {
			return []string{"interfere", "--bandwidth", "1GB/s", "--duration", "10m", "--window", "50ms"}
		}, func(s *processtest.Terminal, _ string, _ *application) {
			processtest.Eventually(s.T, "a window", func() bool { return strings.Contains(s.Raw.String(), "B/s") })
		}},
		{"finding the sustained bandwidth", func(string, *application) []string {
			return []string{"interfere", "--bandwidth", "50%", "--duration", "10m"}
		}, func(s *processtest.Terminal, _ string, _ *application) { interfererOf(s.T) }},
		{"sweeping", func(string, *application) []string {
			return []string{"overlap", "measure", "--repeats", "1000"}
		}, func(s *processtest.Terminal, _ string, _ *application) { s.WaitFor(`computing cores: \d`) }},
		{"measuring capabilities", func(store string, _ *application) []string {
			return []string{"capability", "measure", "--store", store, "--name", "here", "--repeats", "9999"}
		}, func(s *processtest.Terminal, _ string, _ *application) { s.WaitFor(`latency in \d`) }},
		{"racing", func(store string, _ *application) []string {
			return []string{"capability", "race", "--store", store, "--operation", "barrier", "--repeats", "9999"}
		}, func(s *processtest.Terminal, _ string, _ *application) { s.WaitFor(`dissemination|binary|central`) }},
	}
	// Elsewhere TestScripts shows that it is refused.
	if permitted, err := scripttest.NetworkNamespacesWork(); err == nil && permitted {
		all = append(all, stage{"making conflicts", func(string, *application) []string {
			return []string{"network", "measure", "--repeats", "1000"}
		}, func(s *processtest.Terminal, _ string, _ *application) { s.WaitFor(`(two|three|four) (leave|arrive)`) }})
	}
	return all
}

// tickedArgs onboards a sample by its ticks.
func tickedArgs(store, scale string) []string {
	return []string{
		"onboard", "app", "--store", store, "--machine", "here", "--source", "probe", "--levels", "100%", "--precision", "10",
		"--", "bandmate", "sample", "triad", "--scale", scale,
	}
}

func sampleRuns(t *testing.T) bool {
	return slices.ContainsFunc(processtest.ProcessesOf(t), func(pid int) bool {
		words := strings.Fields(processtest.CommandOf(pid))
		return len(words) > 1 && words[1] == "sample"
	})
}

// runUntil lets runs end until the one that the terminal calls by the label.
func (a *application) runUntil(s *processtest.Terminal, label string) {
	a.t.Helper()
	a.running() // to learn how long it takes
	a.work()
	for {
		a.running()
		// The line may still be on its way. One of an earlier run does not
		// matter: it would have ended the search.
		for deadline := time.Now().Add(labelDelay); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if strings.Contains(s.Current(), label) {
				return
			}
		}
		a.work()
	}
}

// labelDelay is how long the terminal may lag behind a run that has begun.
const labelDelay = 500 * time.Millisecond

// Ctrl-C on the terminal, at every stage.
func TestInterrupt(t *testing.T) {
	requires.TwoCPUs(t)
	for _, stage := range stages() {
		t.Run(stage.name, func(t *testing.T) {
			store, a := processtest.StoreWith(t), newApplication(t)
			p := processtest.Prepare(t, "bandmate", stage.args(store, a)...)
			s := processtest.OnTerminal(p)
			stage.reach(s, store, a)
			s.Press(processtest.CtrlC)
			p.Wait()
			p.WantNobody()
			<-s.Drained
			if code := p.Cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			wantCleanScreen(t, processtest.Screen(s.Raw.String()))
			wantWholeStore(t, store)
		})
	}
}

// wantCleanScreen checks that the message stands in a line of its own, at the
// end, with nothing left of a progress bar.
func wantCleanScreen(t *testing.T, lines []string) {
	t.Helper()
	shown := strings.Join(lines, "\n")
	if lines[len(lines)-1] != "" {
		t.Errorf("the cursor is not at the start of a line:\n%s", shown)
	}
	last := strings.TrimPrefix(lines[max(0, len(lines)-2)], "^C")
	if last != "bandmate: interrupted" {
		t.Errorf("the last line is %q:\n%s", last, shown)
	}
	if regexp.MustCompile(`\d of \d+:|━|─`).MatchString(shown) {
		t.Errorf("left of the progress bar:\n%s", shown)
	}
}

// wantWholeStore checks that there is nothing but what was there before, and
// whole samples.
func wantWholeStore(t *testing.T, store string) {
	t.Helper()
	files := strings.Fields(processtest.FilesIn(t, store))
	if i := slices.Index(files, "interrupted/app.jsonl"); i >= 0 {
		journal := processtest.ReadFile(t, filepath.Join(store, files[i]))
		if !strings.HasSuffix(journal, "\n") {
			t.Errorf("half a sample: %s", journal)
		}
		for line := range strings.Lines(journal) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not a sample: %s", line)
			}
		}
		files = slices.Delete(files, i, i+1)
	}
	if !slices.Equal(files, []string{"machines/here.yaml"}) {
		t.Errorf("the store holds %v", files)
	}
}

// late are stages that a minute of measuring leads to. TestInterrupt reaches them under
// the race detector, which makes it minutes; TestKill does not.
var late = []string{"taking turns with the interferer", "checked against whole runs"}

// kill -9 at every stage: what the application started ends too.
func TestKill(t *testing.T) {
	requires.TwoCPUs(t)
	for _, stage := range stages() {
		t.Run(stage.name, func(t *testing.T) {
			if testing.Short() && slices.Contains(late, stage.name) {
				t.Skip("TestInterrupt reaches it")
			}
			store, a := processtest.StoreWith(t), newApplication(t)
			p := processtest.Prepare(t, "bandmate", stage.args(store, a)...)
			s := processtest.OnTerminal(p)
			stage.reach(s, store, a)
			p.Signal(syscall.SIGKILL)
			p.Wait()
			p.WantNobody()
			wantWholeStore(t, store)
		})
	}
}

// SIGTERM and SIGHUP are Ctrl-C from elsewhere; output is no terminal.
func TestTerminate(t *testing.T) {
	requires.TwoCPUs(t)
	// Under nohup a process that this one starts would ignore SIGHUP, too.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
	for _, ending := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(ending.String(), func(t *testing.T) {
			store, a := processtest.StoreWith(t), newApplication(t)
			p := processtest.Prepare(t, "bandmate", onboardArgs(store, "--", a.path)...).Start()
			a.running()
			a.stay()
			p.Signal(ending)
			p.WantExit(130, "bandmate: interrupted\n")
			p.WantNobody()
			if files := processtest.FilesIn(t, store); files != "machines/here.yaml" {
				t.Errorf("without a sample the store holds %s", files)
			}
		})
	}
}

// A second signal does not wait for the cleaning up after the first.
func TestSecondInterrupt(t *testing.T) {
	requires.TwoCPUs(t)
	store, a := processtest.StoreWith(t), newApplication(t)
	p := processtest.Prepare(t, "bandmate", onboardArgs(store, "--", a.path)...).Start()
	a.running()
	a.stayDeaf()
	for range 100 {
		if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	p.Wait()
	if status := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended by itself: %v", p.Cmd.ProcessState)
	}
	p.WantNobody()
}

// After an interruption, and after kill -9, the samples are used. A last line
// that is cut off, as a power failure may leave it, loses no more than itself.
func TestResume(t *testing.T) {
	requires.TwoCPUs(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			store, a := processtest.StoreWith(t), newApplication(t)
			args := onboardArgs(store, "--", a.path)
			p := processtest.Prepare(t, "bandmate", args...).Start()
			a.running()
			a.work()
			for len(journalOf(store)) < 3 {
				a.running()
				a.work()
				before := len(journalOf(store))
				// A sample is dropped when the CPUs move: the next one begins.
				for deadline := time.Now().Add(300 * time.Millisecond); len(journalOf(store)) == before && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
			}
			p.Signal(signal)
			p.Wait()
			p.WantNobody()
			kept := len(journalOf(store)) - 1
			if told := fmt.Sprintf("The %d samples so far are kept: go on with --resume.\n", kept); signal == syscall.SIGINT && !strings.Contains(p.Stderr.String(), told) {
				t.Errorf("%q lacks %q", &p.Stderr, told)
			}

			completeJournal(t, store)
			if signal == syscall.SIGKILL {
				journal := filepath.Join(store, "interrupted", "app.jsonl")
				processtest.WriteFile(t, journal, processtest.ReadFile(t, journal)+`{"target":"app","seconds":99`)
			}
			a.forget()
			p = processtest.Prepare(t, "bandmate", slices.Insert(args, len(args)-2, "--resume")...).Start()
			a.running() // to learn how long it takes: nothing else is missing
			a.work()
			p.WantExit(0)
			wantResumed(t, store)
		})
	}
}

// forget is deaf to what an interrupted run said.
func (a *application) forget() {
	for {
		_ = a.started.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := a.started.Read(make([]byte, 64)); err != nil {
			break
		}
	}
	_ = a.orders.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = a.orders.Read(make([]byte, 64))
}

// completeJournal replaces the samples of a journal by a whole set of known
// ones, whatever placement regime will hold.
func completeJournal(t *testing.T, store string) {
	t.Helper()
	path := filepath.Join(store, "interrupted", "app.jsonl")
	text := journalOf(store)[0]
	pressures := pressure.WithProbes(pressure.Grid([]units.ReadShare{1}, []float64{1}, "sequential"))
	for spell, class := range regime.Classes() {
		sample := func(beside string, seconds float64) {
			line, err := json.Marshal(map[string]any{
				"target": "app", "beside": beside, "regime": class, "roundTripNanoseconds": 100, "spell": spell + 1,
				"start": "2026-01-01T00:00:00Z", "seconds": seconds,
				"achievedSeconds": seconds, "achievedReadBytesPerSecond": 8e9, "aloneReadBytesPerSecond": 10e9,
			})
			if err != nil {
				t.Fatal(err)
			}
			text += string(line) + "\n"
		}
		for range 2 {
			sample("", 0.2)
			for _, p := range pressures {
				sample(p.String(), 0.25)
			}
		}
	}
	processtest.WriteFile(t, path, text)
}

func wantResumed(t *testing.T, store string) {
	t.Helper()
	if files := processtest.FilesIn(t, store); files != "applications/app@here.yaml machines/here.yaml" {
		t.Errorf("the store holds %s", files)
	}
	shown := processtest.Bandmate(t, "profiles", "show", "app", "--store", store, "-o", "json")
	var profile v1alpha1.ApplicationProfile
	if err := json.Unmarshal([]byte(shown.Stdout.String()), &profile); err != nil {
		t.Fatal(err)
	}
	if solo := profile.Spec.Solo; solo.Seconds != 0.2 || solo.Repeats != 2 {
		t.Errorf("solo time %+v is not that of the samples", solo)
	}
	for _, curve := range profile.Spec.Curves {
		for _, point := range curve.Points {
			if point.NormalizedPerformance != 0.8 || point.Repeats != 2 {
				t.Errorf("%+v is not from the samples", point)
			}
		}
	}
}
