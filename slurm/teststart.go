package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ErrNoEstimate means that Slurm cannot say when a submission would start.
var ErrNoEstimate = errors.New("no estimate of the start")

// startsAt is what sbatch and srun --test-only say.
var startsAt = regexp.MustCompile(`Job [0-9]+ to start at ([0-9-]+T[0-9:]+) `)

// TestStart asks Slurm when a submission with these arguments would start; nothing is
// submitted. The error is a *CommandError where Slurm refuses the job, and wraps
// ErrNoEstimate for a command that has no --test-only.
func (c Commands) TestStart(ctx context.Context, command string, args []string) (time.Time, error) {
	if command != "sbatch" && command != "srun" {
		return time.Time{}, fmt.Errorf("%w: %s has no --test-only", ErrNoEstimate, command)
	}
	timeout := cmp.Or(c.Timeout, DefaultTimeout)
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, command, append([]string{"--test-only"}, args...)...)
	// cli_filter.lua has nothing to add.
	cmd.Env = append(environment(c.Environment, cmd.Environ()), "BANDMATE_SLURM=off")
	cmd.WaitDelay = graceToEnd
	said := &capture{most: mostStderr}
	cmd.Stderr = said
	err := cmd.Run()
	text := strings.TrimSpace(string(said.kept))
	if bounded.Err() != nil {
		return time.Time{}, fmt.Errorf("%s --test-only: %w", command, bounded.Err())
	}
	if err != nil {
		return time.Time{}, commandError(command, err, refusal(text))
	}
	found := startsAt.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, fmt.Errorf("%w: %s --test-only says %q", ErrNoEstimate, command, text)
	}
	return moment(found[1]), nil
}

// refusal is the last line of what a command said, without its own name.
func refusal(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimPrefix(lines[len(lines)-1], "allocation failure: ")
}
