package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
)

// completion proposes what may follow on a command line.
type completion = cobra.CompletionFunc

// CompleteApplications proposes the applications of the store that are not named
// yet.
func (a *App) CompleteApplications(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	// The store may come from the configuration; a fault there is not the
	// business of a key press.
	_ = a.Settle(cmd)
	index, _, err := a.loadIndex()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := slices.DeleteFunc(namesOf(index), func(name string) bool { return slices.Contains(args, name) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeMachines proposes the machines of the store.
func (a *App) completeMachines(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	_ = a.Settle(cmd)
	index, _, err := a.loadIndex()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, m := range index.Machines {
		names = append(names, m.Name)
	}
	for _, p := range index.Applications {
		names = append(names, p.Machine)
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// CompleteFlags proposes values for the flags of every command below cmd; where
// nothing is said, a shell proposes files.
func (a *App) CompleteFlags(cmd *cobra.Command) {
	var methods []string
	for _, m := range predictor.Methods() {
		methods = append(methods, string(m))
	}
	byName := map[string]completion{
		"output":  completeFormats,
		"machine": a.completeMachines,
		"method":  oneOf(methods...),
		"pattern": oneOf(string(interferer.Sequential), string(interferer.Random)),
		"source":  completeSources,
		"store":   folders,
		"state":   folders,
		"cgroup":  folders,
	}
	for _, flags := range []*pflag.FlagSet{cmd.PersistentFlags(), cmd.LocalNonPersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			complete := byName[f.Name]
			if values := f.Annotations[flagValues]; len(values) > 0 {
				complete = oneOf(values...)
			}
			if _, registered := cmd.GetFlagCompletionFunc(f.Name); registered {
				return
			}
			switch {
			case cmd.Name() == "report" && f.Name == "output": // a file
			case complete != nil:
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for flags that are not there
			case f.Value.Type() != "string":
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
			}
		})
	}
	for _, child := range cmd.Commands() {
		a.CompleteFlags(child)
	}
}

// flagValues is the annotation of a flag that names its values.
const flagValues = "values"

// Values declares the values of a flag, which a shell proposes. Others may be valid
// as well, such as quantities.
func Values(flags *pflag.FlagSet, name string, values ...string) {
	_ = flags.SetAnnotation(name, flagValues, values) // fails only for flags that are not there
}

// completeFormats proposes the formats of a command.
func completeFormats(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := knownFormats(cmd)
	return slices.DeleteFunc(names, func(s string) bool { return s == "%" }), cobra.ShellCompDirectiveNoFileComp
}

// completeSources proposes the counters of traffic.
func completeSources(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{profiler.ProbeName}
	if host, err := pmu.OpenHost(); err == nil {
		for _, s := range pmu.Sources(host) {
			names = append(names, s.Name())
		}
		_ = host.Close() // a fault there is not the business of a key press
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func oneOf(values ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
