package sysfs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/internal/sysfile"
)

func TestParseField(t *testing.T) {
	for _, tt := range []struct {
		text  string
		word  Word
		bits  []int
		fault string
	}{
		{text: "config:0-7", word: Config, bits: []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{text: "config:0-1,32-34,63\n", word: Config, bits: []int{0, 1, 32, 33, 34, 63}},
		{text: "config1:3", word: Config1, bits: []int{3}},
		{text: "config2:59-60", word: Config2, bits: []int{59, 60}},
		{text: "", fault: "no bits"},
		{text: "config", fault: "no bits"},
		{text: "config3:0-3", fault: "none of"},
		{text: "config:", fault: "no bits"},
		{text: "config:0-64", fault: "above the highest"},
		{text: "config:-1", fault: "list such as"},
		{text: "config:7-0", fault: "list such as"},
		{text: "config:0,,1", fault: "list such as"},
	} {
		f, err := ParseField(tt.text)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.fault)
			}
			continue
		}
		if err != nil || f.Word != tt.word || !slices.Equal(f.Bits, tt.bits) {
			t.Errorf("%q: %+v, %v; want %v %v", tt.text, f, err, tt.word, tt.bits)
		}
	}
}

func TestParseTerms(t *testing.T) {
	for _, tt := range []struct {
		text  string
		want  []Term
		fault string
	}{
		{text: "event=0x04,umask=0x03", want: []Term{{"event", 4}, {"umask", 3}}},
		{text: "clkdiv2_rdwr,mask=1\n", want: []Term{{"clkdiv2_rdwr", 1}, {"mask", 1}}},
		{text: "config=18446744073709551615", want: []Term{{"config", 1<<64 - 1}}},
		{text: "", fault: "not the name"},
		{text: "event=", fault: "not a number"},
		{text: "event=?", fault: "wants a value|want a value"},
		{text: "event=-1", fault: "not a number"},
		{text: "event=1,event=2", fault: "twice"},
		{text: "event=1,,umask=2", fault: "not the name"},
		{text: "ev ent=1", fault: "not the name"},
	} {
		got, err := ParseTerms(tt.text)
		if tt.fault != "" {
			if err == nil || !slices.ContainsFunc(strings.Split(tt.fault, "|"), func(f string) bool { return strings.Contains(err.Error(), f) }) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.fault)
			}
			continue
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func device(t testing.TB, format map[string]string) Device {
	t.Helper()
	d := Device{Name: "example", Format: map[string]Field{}}
	for name, text := range format {
		f, err := ParseField(text)
		if err != nil {
			t.Fatal(err)
		}
		d.Format[name] = f
	}
	return d
}

func TestEncode(t *testing.T) {
	d := device(t, map[string]string{
		"event": "config:0-7,32-35,59-60", "umask": "config:8-15", "match": "config1:0-44", "clkdiv2": "config2:9",
	})
	for _, tt := range []struct {
		text  string
		want  Code
		fault string
	}{
		{text: "event=0x1c7,umask=0x38", want: Code{0x1_0000_38c7}},
		{text: "event=0x3fff", want: Code{3<<59 | 0xf<<32 | 0xff}},
		{text: "match=1,clkdiv2", want: Code{0, 1, 1 << 9}},
		{text: "config=0x84", want: Code{0x84}},
		{text: "config2=0x2,clkdiv2=1", want: Code{0, 0, 1<<9 | 2}},
		{text: "event=0x4000", fault: "does not fit"},
		{text: "inv=1", fault: `no field "inv"`},
		{text: "event", want: Code{1}},
	} {
		got, err := d.Encode(tt.text)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), "example") {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.fault)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%q: %#x, %v; want %#x", tt.text, got, err, tt.want)
		}
	}
}

// TestEncodeKeepsEveryBit: gathering the bits of a field gives the value back,
// and nothing else is set.
func TestEncodeKeepsEveryBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SliceOfNDistinct(rapid.IntRange(0, 63), 1, 64, rapid.ID).Draw(t, "bits")
		f := Field{Word: Word(rapid.IntRange(0, 2).Draw(t, "word")), Bits: bits}
		value := rapid.Uint64().Draw(t, "value")
		if len(bits) < 64 {
			value &= 1<<len(bits) - 1
		}
		var code Code
		if !f.put(&code, value) {
			t.Fatalf("%#x does not fit into %d bits", value, len(bits))
		}
		var back uint64
		for i, bit := range bits {
			back |= (code[f.Word] >> bit & 1) << i
			code[f.Word] &^= 1 << bit
		}
		if back != value || code != (Code{}) {
			t.Fatalf("%#x came back as %#x, with %#x left over", value, back, code)
		}
		again, err := ParseField(Field{Word: f.Word, Bits: slices.Sorted(slices.Values(bits))}.String())
		if err != nil || !slices.Equal(again.Bits, slices.Sorted(slices.Values(bits))) || again.Word != f.Word {
			t.Fatalf("%s read back as %+v, %v", f, again, err)
		}
	})
}

// imc is a device as the kernel shows it.
func imc() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		"type": "24\n", "cpumask": "0,28\n",
		"format/event": "config:0-7\n", "format/umask": "config:8-15\n", "format/filter": "config3:0-7\n",
		"events/cas_count_read": "event=0x04,umask=0x03\n", "events/cas_count_read.scale": "6.103515625e-5\n", "events/cas_count_read.unit": "MiB\n",
		"events/clockticks": "event=0x00,umask=0x00\n", "events/clockticks.per-pkg": "1\n",
	} {
		files[Root+"/uncore_imc_0/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func TestRead(t *testing.T) {
	d, err := Read(imc(), "uncore_imc_0")
	if err != nil {
		t.Fatal(err)
	}
	if d.Type != 24 || !d.HasCPUMask || d.CPUs.String() != "0,28" || len(d.Format) != 2 {
		t.Errorf("%+v", d)
	}
	want := map[string]Event{
		"cas_count_read": {Terms: "event=0x04,umask=0x03", Scale: 6.103515625e-5, Unit: "MiB"},
		"clockticks":     {Terms: "event=0x00,umask=0x00"},
	}
	if diff := cmp.Diff(want, d.Events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if bytes, ok := d.Events["cas_count_read"].Bytes(); !ok || bytes != 64 {
		t.Errorf("a count is %v bytes, %v; want 64", bytes, ok)
	}
	if _, ok := d.Events["clockticks"].Bytes(); ok {
		t.Error("clock ticks are bytes")
	}
	if names, err := Names(imc()); err != nil || !slices.Equal(names, []string{"uncore_imc_0"}) {
		t.Errorf("names %v, %v", names, err)
	}
}

func TestReadFaults(t *testing.T) {
	const dir = Root + "/uncore_imc_0/"
	for _, tt := range []struct {
		file, content string
		is            error
	}{
		{"type", "many", sysfile.ErrMalformed},
		{"type", "", sysfile.ErrMalformed},
		{"type", "4294967296", sysfile.ErrMalformed},
		{"cpumask", "0,,1", sysfile.ErrMalformed},
		{"cpumask", "99999999", sysfile.ErrMalformed},
		{"format/event", "config", sysfile.ErrMalformed},
		{"format/event", "config:0-99", sysfile.ErrMalformed},
		{"events/cas_count_read", "", sysfile.ErrMalformed},
		{"events/cas_count_read.scale", "much", sysfile.ErrMalformed},
		{"events/cas_count_read.scale", "NaN", sysfile.ErrMalformed},
		{"events/cas_count_read.scale", "-1", sysfile.ErrMalformed},
		{"events/cas_count_read.scale", "0", sysfile.ErrMalformed},
		{"events/clockticks", strings.Repeat("x", 70000), sysfile.ErrMalformed},
	} {
		files := imc()
		files[dir+tt.file] = &fstest.MapFile{Data: []byte(tt.content)}
		if _, err := Read(files, "uncore_imc_0"); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.file) {
			t.Errorf("%s with %.20q: %v, want %v that names the file", tt.file, tt.content, err, tt.is)
		}
	}
	if _, err := Read(imc(), "uncore_imc_1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such device: %v", err)
	}
	for _, name := range []string{"", "../cpu", "a/b"} {
		if _, err := Read(imc(), name); err == nil {
			t.Errorf("%q was read", name)
		}
	}
	if _, err := Names(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no perf events: %v", err)
	}
}

func TestReadWithoutOptionalParts(t *testing.T) {
	files := fstest.MapFS{Root + "/uprobe/type": {Data: []byte("8\n")}}
	d, err := Read(files, "uprobe")
	if err != nil || d.HasCPUMask || !d.CPUs.IsEmpty() || len(d.Events)+len(d.Format) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
	files[Root+"/uprobe/cpumask"] = &fstest.MapFile{Data: []byte("\n")}
	if d, err = Read(files, "uprobe"); err != nil || !d.HasCPUMask || !d.CPUs.IsEmpty() {
		t.Errorf("empty cpumask: %+v, %v", d, err)
	}
}

func TestReadProcessor(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Processor
		fault      bool
	}{
		{name: "Intel", text: "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n\nprocessor\t: 1\nmodel\t\t: 1\n", want: Processor{"GenuineIntel", 6, 143}},
		{name: "Arm", text: "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"},
		{name: "malformed", text: "vendor_id\t: GenuineIntel\ncpu family\t: six\n", fault: true},
		{name: "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ReadProcessor(fstest.MapFS{"cpuinfo": {Data: []byte(tt.text)}})
			if (err != nil) != tt.fault || p != tt.want {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	if p, err := ReadProcessor(fstest.MapFS{}); err != nil || p != (Processor{}) {
		t.Errorf("no file: %+v, %v", p, err)
	}
}

func TestSocket(t *testing.T) {
	const name = "devices/system/cpu/cpu3/topology/physical_package_id"
	if s, err := Socket(fstest.MapFS{name: {Data: []byte("1\n")}}, 3); err != nil || s != 1 {
		t.Errorf("%d, %v", s, err)
	}
	if _, err := Socket(fstest.MapFS{name: {Data: []byte("one\n")}}, 3); !errors.Is(err, sysfile.ErrMalformed) {
		t.Errorf("%v, want %v", err, sysfile.ErrMalformed)
	}
}
