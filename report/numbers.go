package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"bandmate.dev/bandmate/units"
)

// Missing stands for an unknown number. Every function below prints it for NaN.
const Missing = "–"

// Slowdown prints "1.34×".
func Slowdown(s units.Slowdown) string {
	if math.IsNaN(float64(s)) {
		return Missing
	}
	if math.IsInf(float64(s), 0) {
		return "∞"
	}
	return s.String()
}

// SlowdownBetween prints an interval, "1.21–1.48×".
func SlowdownBetween(low, high units.Slowdown) string {
	if math.IsNaN(float64(low)) || math.IsNaN(float64(high)) {
		return Missing
	}
	return fmt.Sprintf("%.2f–%s", float64(low), Slowdown(high))
}

// Bandwidth prints "12.3 GB/s".
func Bandwidth(b units.Bandwidth) string {
	if math.IsNaN(float64(b)) {
		return Missing
	}
	return b.String()
}

// BandwidthWithin prints a bandwidth and the half width of its interval as a
// part of it, "12.3 GB/s ± 8%", or the end of an interval that begins at zero,
// "1.2 GB/s (at most 3.6 GB/s)"; without the interval when it is NaN.
func BandwidthWithin(b units.Bandwidth, relative float64) string {
	if math.IsNaN(float64(b)) || math.IsNaN(relative) {
		return Bandwidth(b)
	}
	if relative >= 1 {
		return fmt.Sprintf("%s (at most %s)", b, b*units.Bandwidth(1+relative))
	}
	return fmt.Sprintf("%s ± %.0f%%", b, relative*100)
}

// ReadShare prints "75% reads".
func ReadShare(r units.ReadShare) string {
	if math.IsNaN(float64(r)) {
		return Missing
	}
	return r.String() + " reads"
}

// Seconds prints a time with three significant digits and its unit, from
// nanoseconds up: "81.3 ns", "35.2 ms", "1.24 s", "2 min 05 s", "3 h 07 min".
func Seconds(seconds float64) string {
	switch abs := math.Abs(seconds); {
	case math.IsNaN(seconds):
		return Missing
	case abs >= 359_999.5: // 100 h
		return strconv.FormatFloat(seconds/3600, 'f', 0, 64) + " h"
	case abs >= 7199.5:
		minutes := int(math.Round(abs / 60))
		return fmt.Sprintf("%s%d h %02d min", minus(seconds), minutes/60, minutes%60)
	case abs >= 119.95:
		whole := int(math.Round(abs))
		return fmt.Sprintf("%s%d min %02d s", minus(seconds), whole/60, whole%60)
	case abs >= 0.9995 || abs == 0:
		return units.Significant(seconds) + " s"
	case abs >= 0.9995e-3:
		return units.Significant(seconds*1e3) + " ms"
	case abs >= 0.9995e-6:
		return units.Significant(seconds*1e6) + " µs"
	default:
		return units.Significant(seconds*1e9) + " ns"
	}
}

// Duration prints d as Seconds does.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

// Bytes prints a size in binary multiples, as caches and memory are sold:
// "32 MiB", "1.5 GiB".
func Bytes(n int64) string {
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if math.Abs(v) < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + " " + unit
}

func minus(v float64) string {
	if v < 0 {
		return "-"
	}
	return ""
}
