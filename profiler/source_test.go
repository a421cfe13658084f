package profiler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// fixed is a source of which only the availability matters.
type fixed struct {
	name string
	Availability
}

func (f fixed) Name() string                           { return f.name }
func (f fixed) Available(context.Context) Availability { return f.Availability }
func (f fixed) Measure(context.Context, Workload) (Summary, error) {
	return Summary{}, f.Err()
}

func TestSelect(t *testing.T) {
	missing := fixed{"imc", Availability{State: Unsupported, Reason: "no counters in a guest", Remedy: "use a bare-metal machine"}}
	doubtful := fixed{"resctrl", Availability{State: Inconclusive, Reason: "reads zero"}}
	works := fixed{"probe", Availability{State: Usable}}
	for _, tt := range []struct {
		name    string
		choice  string
		sources []Source
		want    string
		is      []error
		text    []string
	}{
		{name: "first usable", sources: []Source{missing, doubtful, works}, want: "probe"},
		{name: "by name", choice: "probe", sources: []Source{missing, works}, want: "probe"},
		{name: "by name, unsupported", choice: "imc", sources: []Source{missing, works}, is: []error{ErrUnsupported}, text: []string{"source imc", "bare-metal"}},
		{name: "none usable", sources: []Source{missing, doubtful}, is: []error{ErrUnsupported, ErrInconclusive}, text: []string{"no counters in a guest", "reads zero"}},
		{name: "unknown name", choice: "pcm", sources: []Source{missing, works}, text: []string{`"pcm"`, "imc, probe"}},
		{name: "no sources", text: []string{"no source"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Select(t.Context(), tt.choice, tt.sources...)
			if tt.want != "" {
				if err != nil || s.Name() != tt.want {
					t.Fatalf("%v, %v; want %s", s, err, tt.want)
				}
				return
			}
			if err == nil {
				t.Fatalf("selected %s", s.Name())
			}
			for _, is := range tt.is {
				if !errors.Is(err, is) {
					t.Errorf("error %v is not %v", err, is)
				}
			}
			if len(tt.is) == 0 && (errors.Is(err, ErrUnsupported) || errors.Is(err, ErrInconclusive)) {
				t.Errorf("wrong usage is reported as not measurable: %v", err)
			}
			for _, text := range tt.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error lacks %q: %v", text, err)
				}
			}
		})
	}
}

func TestZeroAvailabilityIsNotUsable(t *testing.T) {
	if err := (Availability{}).Err(); !errors.Is(err, ErrInconclusive) {
		t.Errorf("error %v, want %v", err, ErrInconclusive)
	}
}

func TestWorkload(t *testing.T) {
	run := func(context.Context) error { return nil }
	for _, tt := range []struct {
		name string
		w    Workload
		want string
	}{
		{"a command", Workload{Run: run}, ""},
		{"a duration", Workload{Duration: time.Second, Interval: time.Millisecond}, ""},
		{"processes", Workload{Processes: processes{}}, ""},
		{"processes for a duration", Workload{Processes: processes{}, Duration: time.Second}, ""},
		{"neither", Workload{}, "either"},
		{"a command and processes", Workload{Run: run, Processes: processes{}}, "from start to end"},
		{"both", Workload{Run: run, Duration: time.Second}, "either"},
		{"negative", Workload{Duration: -1, Interval: -1}, "interval -1ns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.w.Validate()
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestWorkloadWait(t *testing.T) {
	broken := errors.New("exit status 1")
	w := Workload{Run: func(context.Context) error { return broken }}
	if err := w.Wait(t.Context()); !errors.Is(err, broken) {
		t.Errorf("command: %v, want %v", err, broken)
	}
	if err := (Workload{Duration: time.Nanosecond}).Wait(t.Context()); err != nil {
		t.Errorf("duration: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Workload{Duration: time.Hour}).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v, want %v", err, context.Canceled)
	}
}

// processes end by themselves, or never.
type processes struct{ never bool }

func (processes) Threads() ([]int, error) { return []int{1}, nil }
func (processes) String() string          { return "process 1" }

func (p processes) Wait(ctx context.Context) error {
	if !p.never {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestWorkloadWaitsForProcesses(t *testing.T) {
	if err := (Workload{Processes: processes{}}).Wait(t.Context()); err != nil {
		t.Errorf("they end: %v", err)
	}
	if err := (Workload{Processes: processes{}, Duration: time.Hour}).Wait(t.Context()); err != nil {
		t.Errorf("they end early: %v", err)
	}
	if err := (Workload{Processes: processes{never: true}, Duration: time.Millisecond}).Wait(t.Context()); err != nil {
		t.Errorf("the duration passes: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range []time.Duration{0, time.Hour} {
		if err := (Workload{Processes: processes{never: true}, Duration: d}).Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled after %v: %v", d, err)
		}
	}
}

func TestLaunchHooks(t *testing.T) {
	var calls []string
	hook := func(name string, err error) LaunchHook {
		return func() (func() error, error) {
			calls = append(calls, name)
			return func() error { calls = append(calls, "undo "+name); return nil }, err
		}
	}
	outer := WithLaunchHook(t.Context(), hook("a", nil))
	ctx := WithLaunchHook(outer, hook("b", nil))
	release, err := BeforeLaunch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(release(), release()); err != nil {
		t.Error(err)
	}
	if got := strings.Join(calls, ", "); got != "a, b, undo b, undo a" {
		t.Errorf("called %s", got)
	}
	broken := errors.New("broken")
	calls = nil
	if _, err := BeforeLaunch(WithLaunchHook(WithLaunchHook(outer, hook("c", broken)), hook("d", nil))); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if got := strings.Join(calls, ", "); got != "a, c, undo a" {
		t.Errorf("called %s", got)
	}
	if release, err := BeforeLaunch(t.Context()); err != nil || release() != nil {
		t.Errorf("without hooks: %v", err)
	}
}
