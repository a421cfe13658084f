package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// bytesPerCount is what every count of the pretend PMUs stands for.
const bytesPerCount = 64

// tolerance of a measured bandwidth. The pretend counters are exact in the time
// for which they were running; what is left is how bandmate divides.
const tolerance = 0.001

// limit is how long a run of bandmate may take in the emulated machine, where an
// onboarding takes half a minute, and several on a busy host.
const limit = 240 * time.Second

const (
	unprivileged  = 1000 // a user and group
	capPerfmon    = 38
	notMeasurable = 4 // exit code
)

// summary is what `bandmate measure -o json` prints.
type summary struct {
	Source              string
	Seconds             float64
	ReadBytesPerSecond  *float64
	WriteBytesPerSecond *float64
	ReadShare           *float64
	PerNode             []struct {
		Node                                    int
		ReadBytesPerSecond, WriteBytesPerSecond float64
	}
	Timeline []struct{ ReadBytesPerSecond, WriteBytesPerSecond float64 }
	Warnings []string

	Scope, Separation string
	Activity          *struct {
		CPUSeconds, Instructions, ContextSwitches, OtherCPUSeconds *float64
	}
}

// outcome is how a run of bandmate ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// identity is who runs bandmate.
type identity int

const (
	root identity = iota
	user
	userWithPerfmon
)

// bandmate runs a command line to its end.
func bandmate(who identity, arguments ...string) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, "/bin/bandmate", arguments...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if who != root {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		command.Env = append(command.Environ(), "BANDMATE_STORE=/tmp/user")
	}
	if who == userWithPerfmon {
		command.SysProcAttr.AmbientCaps = []uintptr{capPerfmon}
	}
	err := command.Run()
	o := outcome{code: command.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if ctx.Err() != nil {
		return o, fmt.Errorf("bandmate %s: not finished after %v", strings.Join(arguments, " "), limit)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return o, err
}

// measure runs `bandmate measure` and decodes what it prints.
func measure(who identity, source string, arguments ...string) (summary, error) {
	o, err := bandmate(who, measureArguments(source, arguments)...)
	if err != nil {
		return summary{}, err
	}
	if o.code != 0 {
		return summary{}, fmt.Errorf("bandmate measure: exit code %d: %s", o.code, strings.TrimSpace(o.stderr))
	}
	var s summary
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		return summary{}, fmt.Errorf("bandmate measure printed %q: %w", o.stdout, err)
	}
	if source != "" && s.Source != source {
		return summary{}, fmt.Errorf("source %q, want %q", s.Source, source)
	}
	return s, nil
}

func measureArguments(source string, arguments []string) []string {
	list := []string{"measure", "-o", "json"}
	if source != "" {
		list = append(list, "--source", source)
	}
	return append(list, arguments...)
}

// refuses expects that bandmate fails with a code, prints no result, and says
// one of the words.
func refuses(who identity, code int, words []string, arguments ...string) error {
	o, err := bandmate(who, arguments...)
	if err != nil {
		return err
	}
	var faults []error
	if o.code != code {
		faults = append(faults, fmt.Errorf("exit code %d, want %d", o.code, code))
	}
	if o.stdout != "" {
		faults = append(faults, fmt.Errorf("printed %q, want nothing", o.stdout))
	}
	for _, word := range words {
		if strings.Contains(o.stderr, word) {
			words = nil
		}
	}
	if len(words) > 0 {
		faults = append(faults, fmt.Errorf("said %q, want one of %q in it", o.stderr, words))
	}
	return errors.Join(faults...)
}
