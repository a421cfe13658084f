package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/units"
)

// wallSeconds is given for the fixtures that do not hold it.
const wallSeconds = 1.2

// TestFixtures reads every file of testdata: perf61-* are output of perf 6.1 in
// a virtual machine, the others were written after the tools' documentation.
func TestFixtures(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.txt", "*.csv", "*.json"} {
		matches, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, matches...)
	}
	if len(files) < 20 {
		t.Fatalf("%d fixtures", len(files))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			result, err := Read(bytes.NewReader(text), Options{Name: filepath.Base(path), Seconds: wallSeconds})
			got := fmt.Appendf(nil, "error: %v\n", err)
			if err == nil {
				checkResult(t, result)
				if got, err = json.MarshalIndent(result, "", "  "); err != nil {
					t.Fatal(err)
				}
				got = append(got, '\n')
			}
			golden.Want(t, path+".golden", got)
		})
	}
}

// checkResult checks what holds for every result.
func checkResult(t testing.TB, r Result) {
	t.Helper()
	rate := func(what string, v float64) {
		if !(v >= 0 && v <= v1alpha1.MaxBytesPerSecond) {
			t.Errorf("%s: %v", what, v)
		}
	}
	rate("read", float64(r.Read))
	rate("write", float64(r.Write))
	if r.Source != SourceName || r.Tool == "" || !(r.Seconds > 0) || math.IsInf(r.Seconds, 0) {
		t.Errorf("source %q, tool %q, %v s", r.Source, r.Tool, r.Seconds)
	}
	if r.ReadShare != nil && !(*r.ReadShare >= 0 && *r.ReadShare <= 1) {
		t.Errorf("read share %v", *r.ReadShare)
	}
	if len(r.Timeline) > v1alpha1.MaxTimeline || len(r.Warnings) > v1alpha1.MaxWarnings {
		t.Errorf("%d samples, %d warnings", len(r.Timeline), len(r.Warnings))
	}
	before := 0.0
	for _, s := range r.Timeline {
		if s.Seconds < before || math.IsNaN(s.Seconds) {
			t.Errorf("time line goes from %v to %v s", before, s.Seconds)
		}
		before = s.Seconds
		rate("sample", s.ReadBytesPerSecond)
		rate("sample", s.WriteBytesPerSecond)
	}
	for _, w := range r.Warnings {
		if len(w) > v1alpha1.MaxStringBytes || strings.ContainsFunc(w, func(c rune) bool { return c < ' ' }) {
			t.Errorf("warning %q", w)
		}
	}
}

func read(text string, o Options) (Result, error) {
	o.Name = "file"
	return Read(strings.NewReader(text), o)
}

const (
	perfLines = "100.00,MiB,uncore_imc/cas_count_read/,1000000000,100.00,,\n" +
		"50.00,MiB,uncore_imc/cas_count_write/,1000000000,100.00,,\n"
	pcmHead = ",,SKT0,SKT0,SKT0,System,System,System\n" +
		"Date,Time,Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Read,Write,Memory\n"
	pcmRow       = "2023-05-04,10:11:13.000,2000,1000,3000,2000,1000,3000\n"
	timelineHead = "# GID|MetricsCount|CpuCount|Total runtime [s]|Memory read bandwidth [MBytes/s]|Memory write bandwidth [MBytes/s]\n"
)

// interval is two lines of perf stat -x, -I.
func interval(end string) string {
	return fmt.Sprintf("     %s,100.00,MiB,uncore_imc/cas_count_read/,1000,100.00,,\n     %s,50.00,MiB,uncore_imc/cas_count_write/,1000,100.00,,\n", end, end)
}

func jsonLine(value, unit, event string) string {
	return fmt.Sprintf(`{"counter-value" : %q, "unit" : %q, "event" : %q, "event-runtime" : 1000, "pcnt-running" : 100.00}`+"\n", value, unit, event)
}

// TestErrors wants every fault to name the file, the line and what to do.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		options    Options
		want       []string
	}{
		{"empty", " \n\n", Options{}, []string{"file: ", "empty", "-o FILE"}},
		{"gzip", "\x1f\x8b\x08", Options{}, []string{"compressed", "unpack"}},
		{"perf.data", "PERFILE2h\x00", Options{}, []string{"perf stat report"}},
		{"another tool", "Linux 6.1 (host)\n10:11:12 CPU %usr\n", Options{}, []string{"neither", "--format"}},
		{"for people", "\n Performance counter stats for 'system wide':\n", Options{}, []string{"for people", "-j"}},
		{"no format", perfLines, Options{Format: "xml"}, []string{`"xml"`, "perf-csv, perf-json, pcm, likwid"}},
		{"negative time", perfLines, Options{Seconds: -1}, []string{"seconds -1"}},
		{"hostile separator", "1" + strings.Repeat(",", maxLine/2) + "\n", Options{Format: PerfCSV}, []string{"file:1: "}},
		{"hostile terms", "1,,a/" + strings.Repeat("b,", maxLine/4) + "\n", Options{Format: PerfCSV}, []string{"file:1: "}},
		{"long name", jsonLine("1", "", strings.Repeat("e", maxName+1)), Options{}, []string{"file:1: ", "longer"}},
		{"long line", strings.Repeat("x", maxLine+2), Options{Format: PerfCSV}, []string{"file:1: ", "longer than"}},

		{"no wall time", perfLines, Options{}, []string{"file:2: ", "--seconds", "duration_time"}},
		{"only reads", strings.SplitAfter(perfLines, "\n")[0], Options{Seconds: 1}, []string{"file:1: ", "no writes", "measure both"}},
		{"no memory event", "1,,instructions,1000,100.00,,\n", Options{Seconds: 1}, []string{"file:1: ", `"instructions"`, "cas_count_read"}},
		{"decimal commas", "10380,38,MiB,uncore_imc/cas_count_read/,1000,100,00,,\n", Options{}, []string{"LC_ALL=C"}},
		{"program output", perfLines + "done\n", Options{Seconds: 1}, []string{"file:3: ", `"done"`, "-o FILE"}},
		{"not supported", strings.Replace(perfLines, "100.00,MiB", "<not supported>,MiB", 1), Options{Seconds: 1}, []string{"nothing was counted", "not supported", "cas_count_read"}},
		{"name twice", perfLines + perfLines, Options{Seconds: 1}, []string{"file:3: ", "twice", "--no-merge"}},
		{"two spellings", perfLines + "1,,unc_m_cas_count.rd,1000,100.00,,\n1,,unc_m_cas_count.wr,1000,100.00,,\n", Options{Seconds: 1}, []string{"same traffic"}},
		{"unit of time", strings.Replace(perfLines, "MiB", "msec", 1), Options{Seconds: 1}, []string{"file:1: ", `"msec"`}},
		{"unit lost", interval("1.000000000") + strings.ReplaceAll(interval("2.000000000"), "MiB", ""), Options{}, []string{"file:3: ", "unit", "changes"}},
		{"time goes back", interval("2.000000000") + interval("1.000000000"), Options{}, []string{"file:3: ", "goes back", "one by one"}},
		{"time twice", interval("1.000000000") + interval("1.000000000"), Options{}, []string{"file:3: ", "twice"}},
		{"no time passes", interval("0.000000000"), Options{}, []string{"file:1: ", "does not follow"}},
		{"mixed", interval("1.000000000") + perfLines, Options{}, []string{"file:3: ", "mixed"}},
		{"start missing", strings.SplitAfter(interval("1.000000000"), "\n")[1] + interval("2.000000000"), Options{}, []string{"no reads"}},
		{"late counter", interval("1.000000000") + strings.ReplaceAll(interval("2.000000000"), "imc/", "imc_1/"), Options{}, []string{"file:3: ", "first time"}},
		{"cut off", perfLines + "100.00,MiB,uncore_imc/c", Options{Seconds: 1}, []string{"file:3: ", "truncated"}},
		{"implausible", perfLines, Options{Seconds: 1e-9}, []string{"file:2: ", "wall time is wrong"}},
		{"only comments", "# started on Thu\n", Options{Format: PerfCSV}, []string{"file:1: ", "truncated"}},

		{"JSON cut off", jsonLine("1", "MiB", "uncore_imc/cas_count_read/") + `{"counter-val`, Options{}, []string{"file:2: ", "truncated"}},
		{"JSON decimal commas", `{"interval" : 0,2096}` + "\n", Options{}, []string{"file:1: ", "LC_ALL=C"}},
		{"JSON program output", jsonLine("1", "MiB", "uncore_imc/cas_count_read/") + "done\n", Options{}, []string{"file:2: ", `"done"`}},
		{"JSON without count", `{"event" : "uncore_imc/cas_count_read/"}` + "\n", Options{}, []string{"file:1: ", "counter-value"}},
		{"JSON no number", jsonLine("many", "MiB", "uncore_imc/cas_count_read/"), Options{}, []string{"file:1: ", `"many"`}},
		{"JSON null", jsonLine("(null)", "MiB", "uncore_imc/cas_count_read/") + jsonLine("1", "MiB", "uncore_imc/cas_count_write/"), Options{Seconds: 1}, []string{"nothing was counted", "no value"}},

		{"pcm one row", pcmHead + pcmRow, Options{}, []string{"file:3: ", "--seconds"}},
		{"pcm no rows", pcmHead, Options{}, []string{"file:2: ", "truncated"}},
		{"pcm first header only", strings.SplitAfter(pcmHead, "\n")[0], Options{}, []string{"file:1: ", "header"}},
		{"pcm second header only", strings.SplitAfter(pcmHead, "\n")[1] + pcmRow, Options{}, []string{"file:1: ", "header"}},
		{"pcm headers differ", strings.Replace(pcmHead, "SKT0,", "", 1), Options{}, []string{"file:2: ", "columns"}},
		{"pcm no writes", strings.Replace(pcmHead, "Mem Write", "Mem Wrote", 1), Options{}, []string{"file:2: ", "writes"}},
		{"pcm same row", pcmHead + pcmRow + pcmRow, Options{}, []string{"file:4: ", "line 3"}},
		{"pcm time goes back", pcmHead + pcmRow + strings.Replace(pcmRow, ":13", ":12", 1), Options{}, []string{"file:4: ", "goes back"}},
		{"pcm date", pcmHead + strings.Replace(pcmRow, "2023-05-04", "yesterday", 1), Options{}, []string{"file:3: ", `"yesterday"`}},
		{"pcm cut off", pcmHead + pcmRow + "2023-05-04,10:11:14.000,20", Options{}, []string{"file:4: ", "truncated"}},
		{"pcm decimal commas", pcmHead + strings.ReplaceAll(pcmRow, "000,", "000,00,"), Options{}, []string{"file:3: ", "LC_ALL=C"}},
		{"pcm no number", pcmHead + strings.Replace(pcmRow, "2000", "lots", 1) + strings.Replace(pcmRow, ":13", ":14", 1), Options{}, []string{"file:3: ", `"lots"`}},
		{"pcm near memory", strings.Replace(pcmHead, "Memory (MB/s)", "NM hit rate", 1) + "2023-05-04,10:11:13.000,0,0,0.9,0,0,0\n", Options{Seconds: 1}, []string{"-mm"}},

		{"likwid other group", "TABLE,Group 1 Metric,FLOPS_DP,1\nMetric,HWThread 0\nRuntime (RDTSC) [s],1.0\n", Options{}, []string{"-g MEM"}},
		{"likwid reads only", "TABLE,Group 1 Metric,MEM,1\nMetric,HWThread 0\nMemory read bandwidth [MBytes/s],1.0\n", Options{}, []string{"file:1: ", "nothing was counted"}},
		{"likwid values", "TABLE,Group 1 Metric,MEM,1\nMetric,HWThread 0\nMemory read bandwidth [MBytes/s],1,0\n", Options{}, []string{"file:3: ", "LC_ALL=C"}},
		{"likwid two regions", strings.Repeat("TABLE,Region a,Group 1 Metric,MEM,1\nMetric,HWThread 0\nMemory read bandwidth [MBytes/s],1\n", 2), Options{}, []string{"one by one"}},
		{"likwid timeline of counts", "# GID|EventCount|CpuCount|Total runtime [s]|CAS_COUNT_RD\n", Options{}, []string{"file:1: ", "-g MEM"}},
		{"likwid timeline of flops", "# GID|MetricsCount|CpuCount|Total runtime [s]|CPI\n", Options{}, []string{"file:1: ", "-g MEM"}},
		{"likwid two groups", timelineHead + timelineHead, Options{}, []string{"file:2: ", "alone"}},
		{"likwid time goes back", timelineHead + "1 2 1 2.0 10 5\n1 2 1 1.0 10 5\n", Options{}, []string{"file:3: ", "one by one"}},
		{"likwid cut off", timelineHead + "1 2 1 2.0 10", Options{}, []string{"file:2: ", "truncated"}},
		{"likwid no rows", timelineHead, Options{}, []string{"file:1: ", "truncated"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := read(tt.text, tt.options)
			if err == nil {
				t.Fatalf("no error: %+v", r)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q in it", err, want)
				}
			}
		})
	}
}

func TestForeignFileIsErrFormat(t *testing.T) {
	if _, err := read("hello\n", Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("got %v", err)
	}
}

// TestReadErrorIsPassedOn wants a failing disk, not a truncated file.
func TestReadErrorIsPassedOn(t *testing.T) {
	fault := errors.New("input/output error")
	for format, text := range map[Format]string{
		PerfCSV: perfLines, PerfJSON: jsonLine("1", "MiB", "uncore_imc/cas_count_read/"), PCM: pcmHead, Likwid: timelineHead,
	} {
		broken := io.MultiReader(strings.NewReader(text), faultyReader{fault})
		if _, err := Read(broken, Options{Format: format}); !errors.Is(err, fault) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

type faultyReader struct{ err error }

func (r faultyReader) Read([]byte) (int, error) { return 0, r.err }

// TestSeparators reads the same counts with any separator.
func TestSeparators(t *testing.T) {
	want, err := read(perfLines, Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, separator := range []string{";", "\t", "|", ":", "@", " ", "::", "#"} {
		got, err := read(strings.ReplaceAll(perfLines, ",", separator), Options{Seconds: 1})
		if err != nil {
			t.Errorf("%q: %v", separator, err)
			continue
		}
		if got.Traffic != want.Traffic {
			t.Errorf("%q: %v", separator, got.Traffic)
		}
		timed, err := read(strings.ReplaceAll(interval("1.000000000")+interval("2.000000000"), ",", separator), Options{})
		if err != nil || timed.Traffic != want.Traffic {
			t.Errorf("%q with -I: %v, %v", separator, timed.Traffic, err)
		}
	}
}

// TestPlacesWithoutCounters: of a socket with two NUMA nodes, one has the counters. Perf
// before 6.3 says of the other that they were not counted.
func TestPlacesWithoutCounters(t *testing.T) {
	want, err := read(perfLines, Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var lines, objects strings.Builder
	for _, kind := range []string{"read", "write"} {
		count := map[string]string{"read": "100.00", "write": "50.00"}[kind]
		for _, line := range []string{"N0,0,<not counted>", "N1,1," + count} {
			lines.WriteString(line + ",MiB,uncore_imc/cas_count_" + kind + "/,1000,100.00,,\n")
			cells := strings.Split(line, ",")
			fmt.Fprintf(&objects, `{"node" : %q, "aggregate-number" : %s, "counter-value" : %q, "unit" : "MiB", "event" : "uncore_imc/cas_count_%s/", "event-runtime" : 1000, "pcnt-running" : 100.00}`+"\n",
				cells[0], cells[1], cells[2], kind)
		}
	}
	for _, text := range []string{lines.String(), objects.String()} {
		got, err := read(text, Options{Seconds: 1})
		if err != nil {
			t.Error(err)
			continue
		}
		if got.Traffic != want.Traffic || len(got.PerNode) != 1 || got.PerNode[0].Node != 1 {
			t.Errorf("%v, nodes %v", got.Traffic, got.PerNode)
		}
	}
}

// TestSummary leaves out the sums that perf stat -I --summary prints after the intervals.
func TestSummary(t *testing.T) {
	intervals := interval("1.000000000") + interval("2.000000000")
	want, err := read(intervals, Options{})
	if err != nil {
		t.Fatal(err)
	}
	summary := "         summary," + strings.Replace(perfLines, "\n", "\n         summary,", 1)
	if got, err := read(intervals+summary, Options{}); err != nil || got.Traffic != want.Traffic || got.Seconds != want.Seconds {
		t.Errorf("%v in %v s, %v; want %v in %v s", got.Traffic, got.Seconds, err, want.Traffic, want.Seconds)
	}
}

// TestMetrics leaves out metrics below their events, as versions of perf print them.
func TestMetrics(t *testing.T) {
	want, err := read(perfLines, Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for place, metric := range map[string]string{
		"":      ",,,,,2.00,stalled cycles per insn\n",
		"S0,1,": "S0,1,,,,,,,2.00,stalled cycles per insn\n,S0,1,,,,,,,2.00,stalled cycles per insn\n",
		"CPU0,": "CPU0,,,,,,2.00,stalled cycles per insn\n",
	} {
		counts := place + strings.ReplaceAll(strings.TrimSuffix(perfLines, "\n"), "\n", "\n"+place) + "\n"
		got, err := read(counts+place+"288430,,instructions,1762246,100.00,0.33,insn per cycle\n"+metric, Options{Seconds: 1})
		if err != nil {
			t.Errorf("%q: %v", place, err)
			continue
		}
		if got.Traffic != want.Traffic {
			t.Errorf("%q: %v, want %v", place, got.Traffic, want.Traffic)
		}
	}
	timed, err := read(interval("1.000000000")+"     1.000000000,S0,1,,,,,,,2.00,stalled cycles per insn\n"+interval("2.000000000"), Options{})
	if err != nil || timed.Traffic != want.Traffic {
		t.Errorf("%v, %v, want %v", timed.Traffic, err, want.Traffic)
	}
}

// TestLastIntervalOfLongRun wants a time line that a profile can hold: perf prints what is
// left of the last interval when the program ends.
func TestLastIntervalOfLongRun(t *testing.T) {
	r, err := read(interval("9000.000000000")+interval("15000.000000000")+interval("15000.002000000"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, s := range r.Timeline {
		end := strconv.FormatFloat(s.Seconds, 'g', v1alpha1.SignificantDigits, 64)
		if end == before {
			t.Errorf("two samples end at %s s", end)
		}
		before = end
	}
	if last := r.Timeline[len(r.Timeline)-1].Seconds; last != 15000.002 {
		t.Errorf("ends at %v s", last)
	}
}

// TestOldPCM reads the semicolons of old versions, whose decimal sign is that of the locale.
func TestOldPCM(t *testing.T) {
	rows := pcmHead + pcmRow + strings.Replace(pcmRow, ":13", ":14", 1)
	want, err := read(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{
		strings.ReplaceAll(rows, ",", ";"),
		strings.ReplaceAll(strings.ReplaceAll(rows, ",", ";"), "2000;", "2000,00;"),
	} {
		got, err := read(old, Options{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if got.Traffic != want.Traffic || got.Format != PCM {
			t.Errorf("%s: %v, want %v", got.Format, got.Traffic, want.Traffic)
		}
	}
}

// TestOtherMemoryIsNotCountedInPart leaves out the mean of a memory that an interval has no
// value of: what is missing is not zero.
func TestOtherMemoryIsNotCountedInPart(t *testing.T) {
	const head = ",,SKT0,SKT0,SKT0,SKT0\nDate,Time,Mem Read (MB/s),Mem Write (MB/s),PMM_Read,PMM_Write\n"
	row := func(second, other string) string { return "2023-05-04,10:11:1" + second + ",2000,1000," + other + "\n" }
	for _, test := range []struct {
		second  string
		known   int
		warning string
	}{
		{"500,100", 1, "Optane traffic is not part of any total"},
		{"-1,-1", 0, "Optane traffic is not known: it was not counted in every interval"},
		{",", 0, "Optane traffic is not known"},
		{"much,100", 0, "Optane traffic is not known"},
	} {
		r, err := read(head+row("3", "500,100")+row("4", test.second), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.Counters.OtherMemory); n != test.known || !strings.Contains(strings.Join(r.Warnings, "\n"), test.warning) {
			t.Errorf("%q: %+v, %q", test.second, r.Counters.OtherMemory, r.Warnings)
		}
		if r.Total() != 3e9 {
			t.Errorf("%q: %v in all, want 3 GB/s", test.second, r.Total())
		}
	}
}

// TestMultiplexedValuesAreNotScaledTwice: perf has scaled them, and the summed
// runtime of its events is no wall time.
func TestMultiplexedValuesAreNotScaledTwice(t *testing.T) {
	r, err := read(strings.ReplaceAll(perfLines, "1000000000,100.00", "77,25.00"), Options{Seconds: 2})
	if err != nil {
		t.Fatal(err)
	}
	if want := units.Bandwidth(50 << 20); r.Read != want {
		t.Errorf("%v bytes per second, want %v", float64(r.Read), float64(want))
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "25%") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// TestLongFilesAreThinned reads more intervals than a time line holds: the mean
// is exact, the line bounded and its integral the same.
func TestLongFilesAreThinned(t *testing.T) {
	const intervals = 2*v1alpha1.MaxTimeline + 37
	reader, writer := io.Pipe()
	go func() {
		for i := 1; i <= intervals; i++ {
			end := fmt.Sprintf("%.9f", 0.01*float64(i))
			if _, err := io.WriteString(writer, interval(end)); err != nil {
				return
			}
		}
		writer.Close()
	}()
	r, err := Read(reader, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	var bytes, at float64
	for _, s := range r.Timeline {
		bytes += s.ReadBytesPerSecond * (s.Seconds - at)
		at = s.Seconds
	}
	want := float64(intervals * 100 << 20)
	for what, got := range map[string]float64{"line": bytes, "mean": float64(r.Read) * r.Seconds} {
		if math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: %v bytes, want %v", what, got, want)
		}
	}
}
