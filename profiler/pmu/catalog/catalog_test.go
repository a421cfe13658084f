package catalog

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

func TestRowsAreSound(t *testing.T) {
	sources := Sources()
	for _, r := range Rows() {
		if err := r.validate(); err != nil {
			t.Error(err)
		}
		if !slices.Contains(sources, r.Source) {
			t.Errorf("%s: source %q is not listed", r.Platform, r.Source)
		}
	}
	for _, s := range sources {
		if !slices.ContainsFunc(Rows(), func(r Row) bool { return r.Source == s }) {
			t.Errorf("source %s has no row", s)
		}
	}
}

// validate reports the first fault of a row.
func (r Row) validate() error {
	kinds := map[Kind]bool{}
	for _, e := range r.Events {
		kinds[e.Kind] = true
		if !(e.Bytes > 0) {
			return fmt.Errorf("%s: %v bytes per count; want more than 0", r.Platform, e.Bytes)
		}
		if e.Name == "" && e.Terms == "" {
			return fmt.Errorf("%s: an event with neither name nor terms", r.Platform)
		}
		if e.Terms != "" {
			if _, err := sysfs.ParseTerms(e.Terms); err != nil {
				return fmt.Errorf("%s: %w", r.Platform, err)
			}
		}
	}
	both := len(kinds) == 2 && kinds[Read] && kinds[Write]
	if !both && !(len(kinds) == 1 && kinds[Total]) {
		return fmt.Errorf("%s: want events that read and events that write, or totals alone", r.Platform)
	}
	for name, value := range map[string]string{"platform": r.Platform, "source": r.Source, "device": r.Device, "module": r.Module, "kernel": r.Kernel, "basis": r.Basis} {
		if value == "" {
			return fmt.Errorf("%s %s: no %s", r.Platform, r.Device, name)
		}
	}
	return nil
}

func TestValidateFindsFaults(t *testing.T) {
	sound := Rows()[0]
	for name, spoil := range map[string]func(*Row){
		"no bytes":    func(r *Row) { r.Events = []Event{{Kind: Total, Name: "x"}} },
		"reads only":  func(r *Row) { r.Events = []Event{{Kind: Read, Name: "x", Bytes: 1}} },
		"a mixture":   func(r *Row) { r.Events = append(slices.Clone(r.Events), Event{Kind: Total, Name: "x", Bytes: 1}) },
		"nothing":     func(r *Row) { r.Events = nil },
		"nameless":    func(r *Row) { r.Events = []Event{{Kind: Total, Bytes: 1}} },
		"bad terms":   func(r *Row) { r.Events = []Event{{Kind: Total, Bytes: 1, Terms: "event=?"}} },
		"no basis":    func(r *Row) { r.Basis = "" },
		"no platform": func(r *Row) { r.Platform = "" },
	} {
		r := sound
		spoil(&r)
		if r.validate() == nil {
			t.Errorf("%s: sound", name)
		}
	}
}

// TestGuide guards against a table that was not generated again.
func TestGuide(t *testing.T) {
	const path = "../../../docs/guides/counters.md"
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	updated, err := Insert(string(document), Rows())
	if err != nil {
		t.Fatal(err)
	}
	if updated != string(document) {
		t.Errorf("%s is out of date: run hack/generate.sh", path)
	}
}

func TestInsert(t *testing.T) {
	const document = "before\n" + tableBegin + "\nold\n" + tableEnd + "\nafter\n"
	got, err := Insert(document, Rows()[:1])
	if err != nil || strings.Contains(got, "old") || !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "\nafter\n") || !strings.Contains(got, Rows()[0].Platform) {
		t.Errorf("%q, %v", got, err)
	}
	again, err := Insert(got, Rows()[:1])
	if err != nil || again != got {
		t.Errorf("not the same when done twice: %q, %v", again, err)
	}
	for _, lacking := range []string{"", tableBegin, tableEnd} {
		if _, err := Insert(lacking, nil); err == nil {
			t.Errorf("%q has no marks", lacking)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"uncore_imc_#", "uncore_imc_0", true},
		{"uncore_imc_#", "uncore_imc_11", true},
		{"uncore_imc_#", "uncore_imc_free_running_0", false},
		{"uncore_imc_#", "uncore_imc", false},
		{"uncore_imc_#", "uncore_imc_0_x", false},
		{"uncore_imc", "uncore_imc_0", false},
		{"hisi_sccl#_ddrc#", "hisi_sccl1_ddrc3", true},
		{"hisi_sccl#_ddrc#", "hisi_sccl1_hha3", false},
		{"arm_dmc620_*", "arm_dmc620_10008c000", true},
		{"amd_df", "amd_dfx", false},
	} {
		if got := pattern(tt.pattern).MatchString(tt.name); got != tt.want {
			t.Errorf("%s, %s: %v", tt.pattern, tt.name, got)
		}
	}
}

// device makes one with Intel's format.
func device(name string, events map[string]string) sysfs.Device {
	d := sysfs.Device{Name: name, Format: map[string]sysfs.Field{}, Events: map[string]sysfs.Event{}}
	for field, text := range map[string]string{"event": "config:0-7", "umask": "config:8-15"} {
		f, err := sysfs.ParseField(text)
		if err == nil {
			d.Format[field] = f
		}
	}
	for event, terms := range events {
		d.Events[event] = sysfs.Event{Terms: terms}
	}
	return d
}

func TestChoose(t *testing.T) {
	intel := func(model int) sysfs.Processor { return sysfs.Processor{Vendor: Intel, Family: 6, Model: model} }
	spr := map[string]string{"cas_count_read": "event=0x05,umask=0xcf", "cas_count_write": "event=0x05,umask=0xf0"}
	skx := map[string]string{"cas_count_read": "event=0x04,umask=0x03", "cas_count_write": "event=0x04,umask=0x0c"}
	for _, tt := range []struct {
		name      string
		processor sysfs.Processor
		devices   []sysfs.Device
		platforms []string // of the choices
		reads     []uint64 // codes of the events that read
		notes     int
		rejected  string
	}{
		{"the processor's row", intel(143), []sysfs.Device{device("uncore_imc_0", spr)}, []string{"Intel Sapphire Rapids, Emerald Rapids"}, []uint64{0xcf05}, 0, ""},
		{"an unknown processor: by codes", sysfs.Processor{}, []sysfs.Device{device("uncore_imc_0", spr)}, []string{"Intel Sapphire Rapids, Emerald Rapids"}, []uint64{0xcf05}, 0, ""},
		{"an unknown processor: the kernel's codes", sysfs.Processor{}, []sysfs.Device{device("uncore_imc_0", map[string]string{"cas_count_read": "event=0x77", "cas_count_write": "event=0x78"})}, []string{"Intel Sandy Bridge-EP to Cascade Lake"}, []uint64{0x77}, 0, ""},
		{"a known processor: the table's codes", intel(106), []sysfs.Device{device("uncore_imc_0", skx)}, []string{"Intel Ice Lake server"}, []uint64{0x0f04}, 2, ""},
		{"half of the traffic named", intel(173), []sysfs.Device{device("uncore_imc_0", spr)}, []string{"Intel Granite Rapids, Sierra Forest"}, []uint64{0xcf05, 0xcf06}, 0, ""},
		{"no events named, processor known", intel(85), []sysfs.Device{device("uncore_imc_0", nil)}, []string{"Intel Sandy Bridge-EP to Cascade Lake"}, []uint64{0x0304}, 0, ""},
		{"no events named, processor unknown", sysfs.Processor{}, []sysfs.Device{device("uncore_imc_0", nil)}, nil, nil, 0, "names no event"},
		{"free-running beside regular", sysfs.Processor{}, []sysfs.Device{
			device("uncore_imc_0", skx), device("uncore_imc_free_running_0", map[string]string{"read": "event=0xff,umask=0x20", "write": "event=0xff,umask=0x21"}),
		}, []string{"Intel Sandy Bridge-EP to Cascade Lake"}, []uint64{0x0304}, 0, ""},
		{
			"free-running alone",
			sysfs.Processor{},
			[]sysfs.Device{device("uncore_imc_free_running_0", map[string]string{"read": "event=0xff,umask=0x20", "write": "event=0xff,umask=0x21"})},
			[]string{"Intel Ice Lake server, Snow Ridge, free-running"},
			[]uint64{0x20ff},
			0, "",
		},
		{"a data fabric of an unknown processor", sysfs.Processor{Vendor: AMD, Family: 0x99}, []sysfs.Device{device("amd_df", nil)}, nil, nil, 0, "not known for this processor"},
		{"a device of no row", intel(85), []sysfs.Device{device("uncore_cha_0", skx)}, nil, nil, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			choices, rejected := NewMatcher(Rows()).Choose(tt.devices, Platform{Processor: tt.processor, Sockets: 1})
			var platforms []string
			var reads []uint64
			notes := 0
			for _, c := range choices {
				platforms = append(platforms, c.Row.Platform)
				notes += len(c.Notes)
				for i, e := range c.Events {
					if e.Kind == Read {
						reads = append(reads, c.Codes[i][0])
					}
				}
			}
			if !slices.Equal(platforms, tt.platforms) || !slices.Equal(reads, tt.reads) || notes != tt.notes {
				t.Errorf("chose %q, reading %#x, %d notes; want %q, %#x, %d", platforms, reads, notes, tt.platforms, tt.reads, tt.notes)
			}
			if tt.rejected != "" && (len(rejected) == 0 || !strings.Contains(rejected[0].Reason, tt.rejected)) {
				t.Errorf("rejected %+v, want %q", rejected, tt.rejected)
			}
		})
	}
}

func TestRequires(t *testing.T) {
	skx := device("uncore_imc_0", map[string]string{"cas_count_read": "event=0x04,umask=0x03", "cas_count_write": "event=0x04,umask=0x0c"})
	for _, has := range []bool{true, false} {
		choices, _ := NewMatcher(Rows()).Choose([]sysfs.Device{skx}, Platform{
			Processor: sysfs.Processor{Vendor: Intel, Family: 6, Model: 85}, Sockets: 1, Has: func(string) bool { return has },
		})
		persistent := slices.ContainsFunc(choices, func(c Choice) bool { return c.Row.Memory == Persistent })
		if persistent != has {
			t.Errorf("persistent memory there: %v, counted: %v", has, persistent)
		}
	}
}

func TestRemoteEventsNeedSockets(t *testing.T) {
	df := device("amd_df", nil)
	for field, text := range map[string]string{"event": "config:0-7,32-37", "umask": "config:8-15,24-27"} {
		f, err := sysfs.ParseField(text)
		if err != nil {
			t.Fatal(err)
		}
		df.Format[field] = f
	}
	for sockets, want := range map[int]int{1: 24, 2: 48} {
		choices, _ := NewMatcher(Rows()).Choose([]sysfs.Device{df}, Platform{Processor: sysfs.Processor{Vendor: AMD, Family: 0x19, Model: 0x11}, Sockets: sockets})
		if len(choices) != 1 || len(choices[0].Events) != want {
			t.Errorf("%d sockets: %+v, want %d events", sockets, choices, want)
		}
	}
}
