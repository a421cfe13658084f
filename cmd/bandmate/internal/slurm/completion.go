package slurm

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/slurm"
)

// completionPatience is how long a key press waits for Slurm.
const completionPatience = 2 * time.Second

// completeJob proposes the jobs that the user may see, with their names.
func completeJob(cmd *cobra.Command) {
	complete(cmd, "job", "squeue", "--local", "--noheader", "--format=%i\t%j, %T")
}

// completePartition proposes the partitions.
func completePartition(cmd *cobra.Command) {
	complete(cmd, "partition", "sinfo", "--local", "--noheader", "--format=%R")
}

// complete proposes for a flag what a command of Slurm lists. Where there is no Slurm
// it proposes nothing.
func complete(cmd *cobra.Command, flag string, args ...string) {
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		data, err := slurm.Commands{Timeout: completionPatience}.Run(cmd.Context(), args[0], args[1:]...)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return proposals(string(data)), cobra.ShellCompDirectiveNoFileComp
	})
}

// proposals returns the lines of an output but for the names of clusters, which Slurm prints
// where SLURM_CLUSTERS is set.
func proposals(output string) []string {
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		if line != "" && !strings.HasPrefix(line, "CLUSTER: ") {
			lines = append(lines, line)
		}
	}
	return lines
}
