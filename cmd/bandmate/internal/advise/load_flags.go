package advise

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
)

// loadFlags say how much services have to do.
type loadFlags struct {
	loads  []string
	maxP99 time.Duration
}

func (f *loadFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.loads, "load", nil, "requests per second of APP, a service; NAME=RATE for a neighbor")
	flags.DurationVar(&f.maxP99, "max-p99", 0, "exit with 5 when the p99 of APP exceeds this, for example 2ms; needs --load")
}

// mostRequests bounds a load, as a profile does.
const mostRequests = 1e9

// parse returns the loads in the order of names, of which the first is the target; 0
// where none is said. It is nil without any.
func (f *loadFlags) parse(names []string) ([]float64, error) {
	if f.maxP99 < 0 {
		return nil, cli.Usagef("--max-p99 %v: want more than 0, such as 2ms", f.maxP99)
	}
	loads := make([]float64, len(names))
	for _, text := range f.loads {
		name, rate, named := strings.Cut(text, "=")
		if !named {
			name, rate = names[0], text
		}
		v, err := strconv.ParseFloat(rate, 64)
		if err != nil || !(v > 0 && v <= mostRequests) {
			return nil, cli.Usagef("--load %q: want requests per second, above 0 to 1e9, such as 20000 or NAME=20000", text)
		}
		if !slices.Contains(names, name) {
			return nil, cli.Usagef("--load %q: %q is not among the applications%s", text, name, cli.DidYouMean(name, names))
		}
		for i, n := range names {
			// A bare rate is that of the target, not of another instance beside it.
			if n == name && (named || i == 0) {
				loads[i] = v
			}
		}
	}
	if f.maxP99 > 0 && loads[0] == 0 {
		return nil, cli.Usagef("--max-p99: want the load of %s, too: --load RATE", names[0])
	}
	return loads, nil
}
