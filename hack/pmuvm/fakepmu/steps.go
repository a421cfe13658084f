package fakepmu

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StepsUsage lists what ParseSteps understands.
const StepsUsage = `steps, each a verb and one argument:
  rate LINES      counts per second from now on: 'PMU NODE READS WRITES; ...'
  add LINES       counts at once, in the same form
  sleep DURATION  for example 100ms
  offline CPU, online CPU
  paranoid LEVEL  kernel.perf_event_paranoid
  remove PMU      the PMU disappears
  errno 'PMU NODE ERRNO'   opening an event fails; 0: works again
  back 'PMU NODE COUNTS'   open events go back by so many counts`

// Step is something to do to the pretend hardware.
type Step struct {
	text string
	run  func() error
}

// Run does the step; the error names it.
func (s Step) Run() error {
	if err := s.run(); err != nil {
		return fmt.Errorf("%s: %w", s.text, err)
	}
	return nil
}

// ParseSteps reads pairs of a verb and its argument, see StepsUsage, without
// doing any of them.
func ParseSteps(arguments []string) ([]Step, error) {
	if len(arguments)%2 != 0 {
		return nil, fmt.Errorf("%d arguments: want pairs of a verb and its argument", len(arguments))
	}
	var steps []Step
	for i := 0; i < len(arguments); i += 2 {
		verb, argument := arguments[i], arguments[i+1]
		run, err := parseStep(verb, argument)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", verb, argument, err)
		}
		steps = append(steps, Step{verb + " " + argument, run})
	}
	return steps, nil
}

func parseStep(verb, argument string) (func() error, error) {
	switch verb {
	case "rate", "add":
		lines, err := ParseLines(argument)
		return func() error { return each(verb, lines) }, err
	case "sleep":
		duration, err := time.ParseDuration(argument)
		return func() error { time.Sleep(duration); return nil }, err
	case "offline", "online":
		cpu, err := strconv.Atoi(argument)
		return func() error { return SetOnline(cpu, verb == "online") }, err
	case "paranoid":
		level, err := strconv.Atoi(argument)
		return func() error { return SetParanoid(level) }, err
	case "remove":
		return func() error { return Remove(argument) }, nil
	case "errno":
		pmu, node, value, err := parseBox(argument)
		return func() error { return FailOpening(pmu, node, syscall.Errno(value)) }, err
	case "back":
		pmu, node, value, err := parseBox(argument)
		return func() error { return GoBack(pmu, node, value) }, err
	}
	return nil, fmt.Errorf("unknown verb; %s", StepsUsage)
}

func parseBox(argument string) (pmu, node string, value uint64, err error) {
	fields := strings.Fields(argument)
	if len(fields) != 3 {
		return "", "", 0, fmt.Errorf("%d fields: want PMU NODE NUMBER", len(fields))
	}
	value, err = parseCount(fields[2])
	return fields[0], fields[1], value, err
}
