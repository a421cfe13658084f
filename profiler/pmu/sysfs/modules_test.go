package sysfs

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"bandmate.dev/bandmate/internal/sysfile"
)

// structure is one of SMBIOS type 17.
type structure struct {
	length                            int
	size, dataBits, speed, configured uint16
	kind, technology                  byte
	extended                          uint32
}

func (s structure) bytes() []byte {
	data := make([]byte, max(s.length, 0x5c))
	put := func(offset int, v uint16) { data[offset], data[offset+1] = byte(v), byte(v>>8) }
	data[0], data[1] = 17, byte(s.length)
	put(offsetDataWidth, s.dataBits)
	put(offsetSize, s.size)
	data[offsetType] = s.kind
	put(offsetSpeed, s.speed)
	put(offsetConfigured, s.configured)
	data[offsetTechnology] = s.technology
	put(offsetExtendedConf, uint16(s.extended))
	put(offsetExtendedConf+2, uint16(s.extended>>16))
	return append(data[:s.length], "DIMM A1\x00\x00"...)
}

func TestParseModule(t *testing.T) {
	for _, tt := range []struct {
		name      string
		data      []byte
		want      Module
		populated bool
		fault     bool
	}{
		{name: "DDR4", data: structure{length: 0x28, size: 32768, dataBits: 64, speed: 3200, configured: 2933, kind: 0x1a}.bytes(), want: Module{2933e6, 64, true}, populated: true},
		{name: "rated speed only", data: structure{length: 0x1b, size: 8192, dataBits: 64, speed: 1333, kind: 0x18}.bytes(), want: Module{1333e6, 64, true}, populated: true},
		{name: "first version without speed", data: structure{length: 0x15, size: 8192, dataBits: 64, kind: 0x18}.bytes(), want: Module{0, 64, true}, populated: true},
		{name: "extended speed", data: structure{length: 0x5c, size: 8192, dataBits: 64, configured: 0xffff, kind: 0x22, extended: 70000}.bytes(), want: Module{70000e6, 64, true}, populated: true},
		{name: "Optane", data: structure{length: 0x54, size: 0x7fff, dataBits: 64, configured: 2666, kind: 0x1f, technology: 7}.bytes(), want: Module{2666e6, 64, false}, populated: true},
		{name: "HBM", data: structure{length: 0x54, size: 16384, dataBits: 1024, configured: 3200, kind: 0x21, technology: 3}.bytes(), want: Module{3200e6, 1024, false}, populated: true},
		{name: "width unknown", data: structure{length: 0x28, size: 1, dataBits: 0xffff, configured: 2933, kind: 0x1a}.bytes(), want: Module{2933e6, 0, true}, populated: true},
		{name: "empty slot", data: structure{length: 0x28, dataBits: 0xffff}.bytes()},
		{name: "no data", fault: true},
		{name: "another type", data: []byte{16, 23, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, fault: true},
		{name: "shorter than it says", data: structure{length: 0x28, size: 1}.bytes()[:0x20], fault: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, populated, err := ParseModule(tt.data)
			if (err != nil) != tt.fault || populated != tt.populated || m != tt.want {
				t.Errorf("%+v, %v, %v; want %+v, %v", m, populated, err, tt.want, tt.populated)
			}
			if tt.fault && !errors.Is(err, sysfile.ErrMalformed) {
				t.Errorf("%v, want %v", err, sysfile.ErrMalformed)
			}
		})
	}
}

func TestModules(t *testing.T) {
	files := fstest.MapFS{
		entriesDir + "/17-0/raw": {Data: structure{length: 0x28, size: 32768, dataBits: 64, configured: 3200, kind: 0x1a}.bytes()},
		entriesDir + "/17-1/raw": {Data: structure{length: 0x28}.bytes()},
		entriesDir + "/4-0/raw":  {Data: []byte{4}},
	}
	if modules, err := Modules(files); err != nil || len(modules) != 1 || modules[0].Bandwidth() != 25.6e9 {
		t.Errorf("%+v, %v", modules, err)
	}
	files[entriesDir+"/17-2/raw"] = &fstest.MapFile{Data: []byte{17}}
	if _, err := Modules(files); !errors.Is(err, sysfile.ErrMalformed) {
		t.Errorf("%v, want %v", err, sysfile.ErrMalformed)
	}
	if _, err := Modules(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
}

func TestPeak(t *testing.T) {
	ddr := Module{TransfersPerSecond: 2400e6, DataBits: 64, DRAM: true}
	for _, tt := range []struct {
		name     string
		modules  []Module
		channels int
		want     float64
	}{
		{"two a channel", []Module{ddr, ddr, ddr, ddr}, 2, 2 * 19.2e9},
		{"half of the channels", []Module{ddr, ddr}, 8, 2 * 19.2e9},
		{"channels unknown", []Module{ddr, ddr}, 0, 2 * 19.2e9},
		{"persistent memory beside", []Module{ddr, {TransfersPerSecond: 2666e6, DataBits: 64}}, 2, 19.2e9},
	} {
		if got, err := Peak(tt.modules, tt.channels); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
	if _, err := Peak([]Module{{DRAM: true}}, 2); !errors.Is(err, ErrNoPeak) {
		t.Errorf("%v, want %v", err, ErrNoPeak)
	}
}
