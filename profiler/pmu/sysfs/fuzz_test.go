package sysfs

import (
	"math"
	"math/bits"
	"testing"
	"testing/fstest"
)

func FuzzParseField(f *testing.F) {
	for _, seed := range []string{"config:0-7", "config:0-7,32-35,59-60", "config1:3", "config2:0-63", "config:63-0", "config:1,1", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field, err := ParseField(text)
		if err != nil {
			return
		}
		var code Code
		if all := uint64(math.MaxUint64) >> (64 - len(field.Bits)); !field.put(&code, all) || bits.OnesCount64(code[field.Word]) != len(field.Bits) {
			t.Fatalf("%q: %d bits became %#x", text, len(field.Bits), code)
		}
		again, err := ParseField(field.String())
		if err != nil || again.String() != field.String() {
			t.Fatalf("%q: %s reads back as %s, %v", text, field, again, err)
		}
	})
}

func FuzzParseTerms(f *testing.F) {
	for _, seed := range []string{"event=0x04,umask=0x03", "config=0x1", "a,b=2", "event=?", "=", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms, err := ParseTerms(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, term := range terms {
			if term.Name == "" || seen[term.Name] {
				t.Fatalf("%q: %v", text, terms)
			}
			seen[term.Name] = true
		}
	})
}

func FuzzParseModule(f *testing.F) {
	f.Add(structure{length: 0x28, size: 32768, dataBits: 64, configured: 3200, kind: 0x1a}.bytes())
	f.Add(structure{length: 0x5c, size: 1, dataBits: 64, configured: 0xffff, extended: 1 << 31}.bytes())
	f.Add([]byte{17, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, populated, err := ParseModule(data)
		if (err != nil || !populated) && m != (Module{}) {
			t.Fatalf("%+v, %v, %v", m, populated, err)
		}
		if m.TransfersPerSecond < 0 || m.DataBits < 0 {
			t.Fatalf("%+v", m)
		}
	})
}

// FuzzRead reads a whole device whose files hold anything.
func FuzzRead(f *testing.F) {
	f.Add("24", "0,28", "config:0-7", "event=0x04", "6.1e-5", "MiB")
	f.Add("4294967295", "", "config3:0", "event=?", "1e-400", "")
	f.Fuzz(func(t *testing.T, kind, cpumask, format, event, scale, unit string) {
		files := fstest.MapFS{}
		for name, content := range map[string]string{
			"type": kind, "cpumask": cpumask, "format/event": format, "events/cas": event, "events/cas.scale": scale, "events/cas.unit": unit,
		} {
			files[Root+"/pmu/"+name] = &fstest.MapFile{Data: []byte(content)}
		}
		d, err := Read(files, "pmu")
		if err != nil {
			return
		}
		if bytes, ok := d.Events["cas"].Bytes(); ok && !(bytes > 0) {
			t.Fatalf("a count is %v bytes", bytes)
		}
		if _, err := d.Encode(d.Events["cas"].Terms); err == nil && d.Events["cas"].Terms == "" {
			t.Fatal("an empty event was encoded")
		}
	})
}

func FuzzReadProcessor(f *testing.F) {
	f.Add("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 143\n")
	f.Add("CPU implementer\t: 0x41\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadProcessor(fstest.MapFS{"cpuinfo": {Data: []byte(text)}})
		if err != nil && p != (Processor{}) {
			t.Fatalf("%+v beside %v", p, err)
		}
	})
}
