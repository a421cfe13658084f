package sysfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Module is one populated memory module.
type Module struct {
	// TransfersPerSecond is the configured speed, else the rated one; 0 when the
	// firmware does not say.
	TransfersPerSecond float64
	// DataBits is the width of the data path, without error correction; 0 when
	// the firmware does not say.
	DataBits int
	// DRAM is false for persistent memory and memory in the processor's package.
	DRAM bool
}

// Bandwidth is the module's highest possible, in bytes per second; 0 when
// unknown.
func (m Module) Bandwidth() float64 { return m.TransfersPerSecond * float64(m.DataBits) / 8 }

const (
	entriesDir = "firmware/dmi/entries"
	// maxEntry is far above the longest structure, 255 bytes and its strings.
	maxEntry = 4096
)

// Modules reads the firmware's table of memory modules (SMBIOS type 17, DSP0134
// §7.18), one file for each slot:
//
//	/sys/firmware/dmi/entries/17-0/raw
//
// Only root may read it: the error then wraps fs.ErrPermission. It wraps
// fs.ErrNotExist where there is no such table.
func Modules(sys fs.FS) ([]Module, error) {
	entries, err := fs.ReadDir(sys, entriesDir)
	if err != nil {
		return nil, err
	}
	var modules []Module
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "17-") {
			continue
		}
		name := entriesDir + "/" + e.Name() + "/raw"
		data, err := sysfile.ReadStart(sys, name, maxEntry)
		if err != nil {
			return nil, err
		}
		module, populated, err := ParseModule(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if populated {
			modules = append(modules, module)
		}
	}
	if modules == nil {
		return nil, fmt.Errorf("%s: %w: no populated slot", entriesDir, fs.ErrNotExist)
	}
	return modules, nil
}

// Offsets and values of DSP0134 §7.18.
const (
	typeMemoryDevice = 17

	offsetLength       = 0x01
	offsetDataWidth    = 0x0a
	offsetSize         = 0x0c
	offsetType         = 0x12
	offsetSpeed        = 0x15
	offsetConfigured   = 0x20
	offsetTechnology   = 0x28
	offsetExtended     = 0x54
	offsetExtendedConf = 0x58

	unknownWidth  = 0xffff
	extendedSpeed = 0xffff

	typeNonVolatile = 0x1f
	typeHBM         = 0x20
	typeHBM2        = 0x21
	typeHBM3        = 0x24

	technologyDRAM = 0x03

	// shortest is the length of the first version of the structure.
	shortest = 0x15
)

// ParseModule reads one structure; false for an empty slot. Fields that its
// version lacks are unknown.
func ParseModule(data []byte) (m Module, populated bool, err error) {
	if len(data) < shortest || data[0] != typeMemoryDevice || int(data[offsetLength]) < shortest || int(data[offsetLength]) > len(data) {
		return Module{}, false, fmt.Errorf("%w: %d bytes that are no description of a memory module", sysfile.ErrMalformed, len(data))
	}
	data = data[:data[offsetLength]]
	word := func(offset int) int {
		if offset+2 > len(data) {
			return 0
		}
		return int(binary.LittleEndian.Uint16(data[offset:]))
	}
	speed := func(offset, extended int) int {
		s := word(offset)
		if s == extendedSpeed && extended+4 <= len(data) {
			s = int(binary.LittleEndian.Uint32(data[extended:]) & 0x7fffffff)
		}
		return s
	}
	if word(offsetSize) == 0 {
		return Module{}, false, nil
	}
	transfers := speed(offsetConfigured, offsetExtendedConf)
	if transfers == 0 {
		transfers = speed(offsetSpeed, offsetExtended)
	}
	m = Module{TransfersPerSecond: float64(transfers) * 1e6, DRAM: true}
	if width := word(offsetDataWidth); width != unknownWidth {
		m.DataBits = width
	}
	switch data[offsetType] {
	case typeNonVolatile, typeHBM, typeHBM2, typeHBM3:
		m.DRAM = false
	}
	if len(data) > offsetTechnology && data[offsetTechnology] > technologyDRAM {
		m.DRAM = false
	}
	return m, true, nil
}

// ErrNoPeak means that the modules do not tell how fast memory can be.
var ErrNoPeak = errors.New("the firmware does not say how fast the memory modules are")

// Peak returns the theoretical bandwidth of memory modules: that of the fastest one times
// the number of channels, or of modules if these are fewer or channels is 0 (unknown).
func Peak(modules []Module, channels int) (float64, error) {
	fastest, populated := 0.0, 0
	for _, m := range modules {
		if m.DRAM {
			fastest = max(fastest, m.Bandwidth())
			populated++
		}
	}
	if fastest == 0 {
		return 0, ErrNoPeak
	}
	if channels > 0 {
		populated = min(populated, channels)
	}
	return fastest * float64(populated), nil
}
