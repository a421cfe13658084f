package slurm

import (
	"fmt"
	"strings"

	"bandmate.dev/bandmate/units"
)

// ParseTraffic reads a bandwidth and a read share, as "10GB/s,75%"; without the
// read share everything counts as read.
func ParseTraffic(text string) (units.Traffic, error) {
	bandwidth, share, found := strings.Cut(text, ",")
	total, err := units.ParseBandwidth(strings.TrimSpace(bandwidth))
	if err != nil {
		return units.Traffic{}, err
	}
	reads := units.ReadShare(1)
	if found {
		if reads, err = units.ParseReadShare(strings.TrimSpace(share)); err != nil {
			return units.Traffic{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	return units.TrafficOf(total, reads), nil
}
