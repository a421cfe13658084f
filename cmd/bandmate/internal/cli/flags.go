package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// PlacementFlags say where application and interferer run.
type PlacementFlags struct {
	// Beside names what runs beside the application; empty means the interferer.
	Beside             string
	target, interferer string
	memoryNode         int
	memoryCap          string
	realTime           bool
}

// Add defines the flags.
func (f *PlacementFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.target, "cpus", "", "CPUs of the application, for example 0-3,8 (default: chosen from the topology)")
	beside, helper := "interferer", "interferer"
	if f.Beside != "" {
		beside, helper = f.Beside, "helper process of bandmate"
	}
	flags.StringVar(&f.interferer, "interferer-cpus", "", "CPUs of the "+beside+" (default: chosen from the topology)")
	flags.IntVar(&f.memoryNode, "memory-node", -1, "NUMA node whose memory both use (default: chosen from the topology)")
	flags.StringVar(&f.memoryCap, "memory-cap", "", "maximum memory of the "+helper+", for example 2GiB (default: a quarter of what is available)")
	flags.BoolVar(&f.realTime, "real-time", false, "run the "+helper+" at real-time priority")
}

// Placing returns the placement that the flags ask for, or a usage error.
func (f *PlacementFlags) Placing() (bench.Placing, error) {
	target, err := ParseCPUs("--cpus", f.target)
	if err != nil {
		return bench.Placing{}, err
	}
	pressing, err := ParseCPUs("--interferer-cpus", f.interferer)
	if err != nil {
		return bench.Placing{}, err
	}
	if both := target.Intersection(pressing); !both.IsEmpty() {
		return bench.Placing{}, Usagef("CPUs %v are in both --cpus and --interferer-cpus: give each its own", both)
	}
	limit, err := ParseBytes("--memory-cap", f.memoryCap)
	if err != nil {
		return bench.Placing{}, err
	}
	return bench.Placing{
		Request:   topology.Request{Target: target, Interferer: pressing, MemoryNode: OptionalNode(f.memoryNode)},
		MemoryCap: limit,
		RealTime:  f.realTime,
	}, nil
}

// OptionalNode returns nil for a negative number, which means that no node was chosen.
func OptionalNode(node int) *int {
	if node < 0 {
		return nil
	}
	return &node
}

// ParseCPUs reads a list of CPUs such as 0-3,8; empty is no CPU.
func ParseCPUs(flag, list string) (cpuset.CPUSet, error) {
	if list == "" {
		return cpuset.New(), nil
	}
	set, err := topology.ParseCPUs(list)
	if err != nil {
		return set, Usagef("%s %q: %w: want a list such as 0-3,8", flag, list, err)
	}
	return set, nil
}

// ParseBytes reads an amount of memory; empty is 0.
func ParseBytes(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	amount, err := units.ParseBandwidth(strings.TrimSpace(text) + "/s")
	if err != nil || amount < 1 || amount > 1<<60 {
		return 0, Usagef("%s %q: want an amount of memory such as 512MiB or 2GB", flag, text)
	}
	return int64(amount), nil
}

// ParseShares reads read shares, from 0% to 100%.
func ParseShares(flag string, texts []string) ([]units.ReadShare, error) {
	var shares []units.ReadShare
	for _, text := range texts {
		share, err := units.ParseReadShare(text)
		if err != nil {
			return nil, Usagef("%s: %w", flag, err)
		}
		shares = append(shares, share)
	}
	return shares, nil
}

// ParsePattern reads an access pattern.
func ParsePattern(flag, text string) (interferer.Pattern, error) {
	switch p := interferer.Pattern(text); p {
	case interferer.Sequential, interferer.Random:
		return p, nil
	}
	return "", Usagef("%s %q: want sequential or random", flag, text)
}

// normal90 is the half width of a 90% interval in standard errors.
const normal90 = 1.645

// PrecisionFlags say how often a condition is repeated.
type PrecisionFlags struct {
	points     float64
	repeats    int
	maxRepeats int
}

// Add defines the flags.
func (f *PrecisionFlags) Add(flags *pflag.FlagSet) {
	flags.Float64Var(&f.points, "precision", 1, "measure until the standard error of each point is at most this many points of normalized performance")
	flags.IntVar(&f.repeats, "repeats", 3, "of whole runs, minimum number of repeats of each condition")
	flags.IntVar(&f.maxRepeats, "max-repeats", 7, "of whole runs, maximum number of repeats of each condition")
}

// Precision returns the precision that the flags ask for, or a usage error.
func (f *PrecisionFlags) Precision() (sampling.Precision, error) {
	if !(f.points > 0) || f.repeats < 1 || f.maxRepeats < f.repeats {
		return sampling.Precision{}, Usagef("--precision %v --repeats %d --max-repeats %d: want a precision above 0 and 1 ≤ repeats ≤ max-repeats", f.points, f.repeats, f.maxRepeats)
	}
	return sampling.Precision{HalfWidth: normal90 * f.points / 100, MinRepeats: f.repeats, MaxRepeats: f.maxRepeats}, nil
}

// Points returns the standard error that the flags ask for, in points of
// normalized performance.
func (f *PrecisionFlags) Points() float64 { return f.points }

// CheckDuration returns a usage error unless d is above zero.
func CheckDuration(flag string, d time.Duration) error {
	if d <= 0 {
		return Usagef("%s %v: want a time above zero, such as 2s", flag, d)
	}
	return nil
}

// wanted is what flags take, by the type of their value; other types say it themselves.
var wanted = map[string]string{
	"bool":        "true or false",
	"int":         "a whole number",
	"float64":     "a number",
	"duration":    "a duration, such as 500ms, 30s or 5m",
	"stringSlice": "a list, such as a,b",
}

// RefusedValue returns the error of a flag that refused its value in the words of a user;
// other errors as they are.
func RefusedValue(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f := invalid.GetFlag()
	if want, ok := wanted[f.Value.Type()]; ok {
		return fmt.Errorf("--%s %q: want %s", f.Name, invalid.GetValue(), want)
	}
	return fmt.Errorf("--%s %q: %w", f.Name, invalid.GetValue(), invalid.Unwrap())
}
