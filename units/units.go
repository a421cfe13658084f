// Package units defines the quantities that Bandmate measures and predicts, each with
// a type of its own.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LineBytes is the size of a cache line, the unit of every transfer at the
// memory controller of the supported platforms, in bytes.
const LineBytes = 64

// Bandwidth is a data rate at the memory controller in bytes per second.
// Valid values are finite and not negative.
type Bandwidth float64

// Decimal multiples, as memory vendors and the literature use them.
const (
	BytePerSecond     Bandwidth = 1
	KilobytePerSecond           = 1e3 * BytePerSecond
	MegabytePerSecond           = 1e6 * BytePerSecond
	GigabytePerSecond           = 1e9 * BytePerSecond
)

// Valid reports whether b is finite and not negative.
func (b Bandwidth) Valid() bool {
	return b >= 0 && !math.IsInf(float64(b), 0)
}

// GBps returns b in decimal gigabytes (10^9 bytes) per second.
func (b Bandwidth) GBps() float64 { return float64(b / GigabytePerSecond) }

// String prints b with three significant digits, for example "12.3 GB/s".
func (b Bandwidth) String() string {
	v, unit := float64(b), "B/s"
	switch abs := math.Abs(v); {
	case abs >= 999.5e6:
		v, unit = v/1e9, "GB/s"
	case abs >= 999.5e3:
		v, unit = v/1e6, "MB/s"
	case abs >= 999.5:
		v, unit = v/1e3, "kB/s"
	}
	return Significant(v) + " " + unit
}

// Significant prints v with three significant digits, and with no fraction from
// 100 on.
func Significant(v float64) string {
	digits := 2
	for abs := math.Abs(v); digits > 0 && abs >= 9.995; abs /= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

var bandwidthUnits = []struct {
	suffix string
	scale  float64
}{
	// Longest first: "GB/s" ends in "B/s" too.
	{"KiB/s", 1 << 10},
	{"MiB/s", 1 << 20},
	{"GiB/s", 1 << 30},
	{"TiB/s", 1 << 40},
	{"kB/s", 1e3},
	{"KB/s", 1e3},
	{"MB/s", 1e6},
	{"GB/s", 1e9},
	{"TB/s", 1e12},
	{"B/s", 1},
}

// ParseBandwidth reads a quantity with its unit: "12GB/s", "1.5 GiB/s",
// "900MB/s". A bare number is refused, because it does not say its unit.
func ParseBandwidth(s string) (Bandwidth, error) {
	text := strings.TrimSpace(s)
	for _, u := range bandwidthUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if b := Bandwidth(v * u.scale); err == nil && b.Valid() {
			return b, nil
		}
		break
	}
	return 0, fmt.Errorf("bandwidth %q: want a number with a unit, such as 12GB/s or 900MiB/s", s)
}

// ReadShare is reads ÷ (reads + writes) at the memory controller, 0 to 1.
type ReadShare float64

// Valid reports whether r lies within 0 and 1.
func (r ReadShare) Valid() bool { return r >= 0 && r <= 1 }

// String prints r as a percentage, for example "75%".
func (r ReadShare) String() string { return percent(float64(r)) }

// ParseReadShare reads "75%" or "0.75".
func ParseReadShare(s string) (ReadShare, error) {
	v, err := ParseShare(s)
	if err != nil {
		return 0, fmt.Errorf("read share %w", err)
	}
	return ReadShare(v), nil
}

// ParseShare reads a part of a whole, "75%" or "0.75", as a number from 0 to 1.
func ParseShare(s string) (float64, error) {
	text, scale := strings.TrimSpace(s), 1.0
	if number, ok := strings.CutSuffix(text, "%"); ok {
		text, scale = strings.TrimSpace(number), 100
	}
	v, err := strconv.ParseFloat(text, 64)
	if v /= scale; err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q: want a share from 0%% to 100%% (or 0 to 1)", s)
	}
	return v, nil
}

func percent(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + "%"
}

// NormalizedPerformance is solo time ÷ co-run time: 1 is undisturbed, 0.5 is
// half the speed. Measured values may exceed 1 by the noise of the measurement.
type NormalizedPerformance float64

// Slowdown returns 1 ÷ p; +Inf for p = 0.
func (p NormalizedPerformance) Slowdown() Slowdown { return Slowdown(1 / p) }

// Slowdown is co-run time ÷ solo time, 1 and above but for noise.
type Slowdown float64

// NormalizedPerformance returns 1 ÷ s.
func (s Slowdown) NormalizedPerformance() NormalizedPerformance {
	return NormalizedPerformance(1 / s)
}

// String prints s with two decimals, for example "1.34×".
func (s Slowdown) String() string {
	return strconv.FormatFloat(float64(s), 'f', 2, 64) + "×"
}

// Exact returns s with all of its digits, two decimals at least: a limit as it was given.
func (s Slowdown) Exact() string {
	if exact := strconv.FormatFloat(float64(s), 'f', -1, 64) + "×"; len(exact) > len(s.String()) {
		return exact
	}
	return s.String()
}

// Traffic is the read and the write bandwidth at the memory controller.
type Traffic struct {
	Read  Bandwidth `json:"readBytesPerSecond"`
	Write Bandwidth `json:"writeBytesPerSecond"`
}

// TrafficOf splits a total bandwidth by read share.
func TrafficOf(total Bandwidth, share ReadShare) Traffic {
	read := total * Bandwidth(share)
	return Traffic{Read: read, Write: total - read}
}

// Total returns reads plus writes.
func (t Traffic) Total() Bandwidth { return t.Read + t.Write }

// ReadShare returns reads ÷ (reads + writes); false without any traffic,
// where the share is unknown rather than zero.
func (t Traffic) ReadShare() (ReadShare, bool) {
	if t.Total() <= 0 {
		return 0, false
	}
	return ReadShare(t.Read / t.Total()), true
}

// Add returns the sum of two flows.
func (t Traffic) Add(other Traffic) Traffic {
	return Traffic{Read: t.Read + other.Read, Write: t.Write + other.Write}
}

// Scale returns t times a factor.
func (t Traffic) Scale(factor float64) Traffic {
	return Traffic{Read: t.Read * Bandwidth(factor), Write: t.Write * Bandwidth(factor)}
}
