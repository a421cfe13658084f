package page

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/memory"
)

// Tables are those from which fast.js approximates (see fast.Tables).
type Tables struct {
	Top     float32 `json:"top"`
	Traffic Floats  `json:"traffic"`
	// Memory is an index into Data.Memories; absent without a model of the memory.
	Memory   *int   `json:"memory,omitempty"`
	Target   Floats `json:"target,omitempty"`
	Corunner Floats `json:"corunner,omitempty"`
}

// Floats are numbers whose text is their little-endian bytes in base64.
type Floats []float32

// MarshalText implements encoding.TextMarshaler.
func (f Floats) MarshalText() ([]byte, error) {
	var b []byte
	for _, v := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Floats) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b)%4 != 0 {
		return fmt.Errorf("%d bytes of base64 are no numbers of 4 bytes: %w", len(text), err)
	}
	for four := range slices.Chunk(b, 4) {
		*f = append(*f, math.Float32frombits(binary.LittleEndian.Uint32(four)))
	}
	return nil
}

// tabulate sets Tables and Memories.
func (d *Data) tabulate(apps []*predictor.Application) {
	if len(apps) > MaxExact && slices.ContainsFunc(apps, (*predictor.Application).SharesCache) {
		d.Warnings = append(d.Warnings, "applications share a last-level cache: what this page approximates knows bandwidth"+
			" only; bandmate predict and bandmate serve know the cache, too")
	}
	var models []*memory.Model
	for i, a := range apps {
		t := fast.New(a).Tables()
		d.Applications[i].Tables = Tables{Top: t.Top, Traffic: t.Traffic, Target: t.Target, Corunner: t.Corunner}
		if t.Memory == nil {
			continue
		}
		place := slices.Index(models, t.Memory)
		if place < 0 {
			place, models = len(models), append(models, t.Memory)
			d.Memories = append(d.Memories, t.Memory.Numbers())
		}
		d.Applications[i].Tables.Memory = &place
	}
}
