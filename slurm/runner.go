package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Runner executes a command of Slurm.
type Runner interface {
	// Run executes the command with exactly these arguments, never through a
	// shell, and returns what it wrote to standard output. Errors are or wrap
	// ErrNotInstalled, ErrTimeout, ErrUnreachable, ErrSeveralClusters or a *CommandError.
	Run(ctx context.Context, name string, args ...string) ([]byte, error)
}

var (
	// ErrNotInstalled means that a command of Slurm does not exist here.
	ErrNotInstalled = errors.New("not installed: install Slurm's client commands (Debian: slurm-client) or put them into PATH")
	// ErrTimeout means that a command did not answer in time.
	ErrTimeout = errors.New("no answer in time: slurmctld is down or overloaded, see sdiag; allow more with --timeout")
	// ErrUnreachable means that the command could not talk to slurmctld.
	ErrUnreachable = errors.New("slurmctld cannot be reached: see scontrol ping, and SLURM_CONF if the cluster is another one")
	// ErrSeveralClusters means that SLURM_CLUSTERS names more than one cluster.
	ErrSeveralClusters = errors.New("several clusters: name one in SLURM_CLUSTERS, because nodes and jobs of several cannot be told apart")
	// ErrTooMuchOutput means that a command wrote more than Bandmate reads.
	ErrTooMuchOutput = errors.New("too much output")
)

// CommandError is a command that ended with another code than 0.
type CommandError struct {
	Name string
	// ExitCode is the command's, or -1 when a signal ended it.
	ExitCode int
	// Stderr is the end of what it said, trimmed; from whoever wrote Slurm's
	// messages, job names included: not for a terminal as it is.
	Stderr string
}

// Error implements error.
func (e *CommandError) Error() string {
	message := fmt.Sprintf("%s ended with %d", e.Name, e.ExitCode)
	if e.Stderr != "" {
		message += ": " + e.Stderr
	}
	return message
}

// DefaultTimeout is how long a command of Slurm may take. Slurm's own commands
// retry for longer when slurmctld is down (MessageTimeout, 10 s each).
const DefaultTimeout = 15 * time.Second

// Commands is the Runner that executes the commands found in PATH. The zero
// value takes the environment of this process and DefaultTimeout.
type Commands struct {
	// Timeout bounds each command; 0 means DefaultTimeout.
	Timeout time.Duration
	// Environment is what the commands see, as os.Environ returns it; nil means
	// that of this process. What would change their language, the time format
	// or the choice of jobs and nodes is overridden.
	Environment []string
}

const (
	// mostOutput bounds what is read from one command: 100,000 jobs of 4 kB.
	mostOutput = 512 << 20
	// mostStderr bounds what an error quotes.
	mostStderr = 2000
	// graceToEnd is how long the pipes of a command that was killed may stay open.
	graceToEnd = time.Second
)

// Run implements Runner. A command that is still running when its time is over,
// or when ctx ends, is killed.
func (c Commands) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	timeout := cmp.Or(c.Timeout, DefaultTimeout)
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, name, args...)
	cmd.Env = environment(c.Environment, cmd.Environ())
	if named := clusters(cmd.Env); named == "all" || strings.Contains(named, ",") {
		return nil, fmt.Errorf("%s: SLURM_CLUSTERS=%s: %w", name, named, ErrSeveralClusters)
	}
	cmd.WaitDelay = graceToEnd
	stdout, stderr := &capture{most: mostOutput}, &capture{most: mostStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", name, ctx.Err())
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%s took more than %v: %w", name, timeout, ErrTimeout)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s: %w", name, ErrNotInstalled)
	case err != nil:
		return nil, commandError(name, err, strings.TrimSpace(string(stderr.kept)))
	case stdout.dropped > 0:
		return nil, fmt.Errorf("%s: %w: more than %d MiB", name, ErrTooMuchOutput, mostOutput>>20)
	}
	return stdout.kept, nil
}

// commandError tells apart what a caller may act upon.
func commandError(name string, err error, stderr string) error {
	ended := &CommandError{Name: name, ExitCode: -1, Stderr: stderr}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		ended.ExitCode = exit.ExitCode()
	case stderr == "":
		return fmt.Errorf("%s: %w", name, err)
	}
	if unreachable(stderr) {
		return fmt.Errorf("%w: %w", ErrUnreachable, ended)
	}
	return ended
}

// Unanswered reports whether an error of a Runner means that slurmctld did not answer: more
// calls are useless, and the failed one may have been carried out.
func Unanswered(err error) bool {
	return errors.Is(err, ErrTimeout) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrNotInstalled) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unreachable reports whether a message says that nobody answered.
func unreachable(message string) bool {
	return slices.ContainsFunc(unreachableSigns(), func(sign string) bool { return strings.Contains(message, sign) })
}

// unreachableSigns are the messages of slurm_strerror (src/common/slurm_errno.c)
// that say that nobody answered.
func unreachableSigns() []string {
	return []string{
		"Unable to contact slurm controller",
		"Connection refused",
		"Socket timed out on send/recv operation",
		"Could not establish a configuration source",
		"DNS SRV lookup failed",
		"Zero Bytes were transmitted or received",
	}
}

// environment makes the output of the commands the same for every caller:
// English, times as written by Slurm, every job and node, all tasks of an array.
func environment(own, inherited []string) []string {
	if own == nil {
		own = inherited
	}
	kept := slices.DeleteFunc(slices.Clone(own), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_") ||
			name == "SLURM_TIME_FORMAT" || name == "SLURM_BITSTR_LEN" || name == "SLURM_JSON" || name == "SLURM_YAML" ||
			strings.HasPrefix(name, "SQUEUE_") || strings.HasPrefix(name, "SINFO_")
	})
	return append(kept, "LANG=C", "LC_ALL=C", "SLURM_TIME_FORMAT=standard", "SLURM_BITSTR_LEN=0")
}

// clusters returns the clusters that an environment names for the commands.
func clusters(environment []string) string {
	named := ""
	for _, variable := range environment {
		if value, ok := strings.CutPrefix(variable, "SLURM_CLUSTERS="); ok {
			named = value
		}
	}
	return named
}

// capture keeps the first bytes that are written to it and counts the others.
type capture struct {
	most    int
	kept    []byte
	dropped int
}

// Write implements io.Writer; it never fails, so that the command ends by itself.
func (c *capture) Write(data []byte) (int, error) {
	room := min(len(data), c.most-len(c.kept))
	c.kept = append(c.kept, data[:room]...)
	c.dropped += len(data) - room
	return len(data), nil
}
