package advise

import (
	"fmt"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/service"
)

// loadFlags give the loads of services and their limits of p99.
type loadFlags struct{ loads, maxP99s []string }

func (f *loadFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.loads, "load", nil, "requests per second of APP, a service; NAME=RATE for a neighbor")
	flags.StringSliceVar(&f.maxP99s, "max-p99", nil, "exit with 5 when the p99 of APP exceeds this, for example 2ms; NAME=DURATION for a neighbor; needs --load")
}

// parse returns the demands in the order of names, of which the first is the target.
func (f *loadFlags) parse(names []string) ([]service.Demand, error) {
	loads, err := service.ParseLoads(f.loads, names)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--load %w", err))
	}
	limits, err := service.ParseMaxP99s(f.maxP99s, names)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--max-p99 %w", err))
	}
	demands, err := service.Demands(names, loads, limits)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--max-p99: %w: --load RATE", err))
	}
	return demands, nil
}
