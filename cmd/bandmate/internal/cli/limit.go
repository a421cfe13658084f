package cli

import (
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/units"
)

// highestLimit is beyond every slowdown that is predicted.
const highestLimit = 1000

// Limit is a slowdown that may not be exceeded, and the flag that sets it.
type Limit struct {
	// Slowdown is 0 where there is no limit.
	Slowdown units.Slowdown
	flag     *pflag.Flag
}

// Add defines the flag.
func (l *Limit) Add(flags *pflag.FlagSet, name, usage string) {
	flags.Float64Var((*float64)(&l.Slowdown), name, 0, usage)
	l.flag = flags.Lookup(name)
}

// Check returns a usage error where a limit is given that is none.
func (l Limit) Check() error {
	if l.flag != nil && l.flag.Changed && !(l.Slowdown >= 1 && l.Slowdown <= highestLimit) {
		return Usagef("--%s %v: want 1 to %d, such as 1.15", l.flag.Name, float64(l.Slowdown), highestLimit)
	}
	return nil
}
