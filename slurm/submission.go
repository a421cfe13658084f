package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// Submission is a command line of sbatch, srun or salloc, understood so far that
// nodes can be excluded for it.
type Submission struct {
	// Command is sbatch, srun or salloc.
	Command string
	// Args are its arguments as they were given.
	Args []string
	// Components are the parts of a heterogeneous job, separated by colons; of
	// any other job there is one.
	Components []Component
}

// Component is what one part of a submission asks for.
type Component struct {
	options []option // later ones count
	// end is the index in Args at which an option for it can be inserted.
	end int
	// program is the script or program.
	program string
}

// ErrNotAdvised is wrapped where a submission is in order, but is better left as
// it is.
var ErrNotAdvised = errors.New("submitted without advice")

// mostScript bounds how much of a script is read for its #SBATCH lines.
const mostScript = 1 << 20

// ParseSubmission understands a command line. readFile reads a script for its
// #SBATCH lines; env looks up variables of the environment, which count less than
// the command line and, for sbatch, more than the script. The error wraps
// ErrNotAdvised for what is right but not for Bandmate to touch; any other error
// means that Slurm may well refuse it too.
func ParseSubmission(command string, args []string, env func(string) string, readFile func(string) ([]byte, error)) (*Submission, error) {
	if !slices.Contains([]string{"sbatch", "srun", "salloc"}, command) {
		return nil, fmt.Errorf("%q: want sbatch, srun or salloc", command)
	}
	if command == "srun" && env("SLURM_JOB_ID") != "" {
		return nil, fmt.Errorf("%w: this srun starts a step inside job %s", ErrNotAdvised, env("SLURM_JOB_ID"))
	}
	s := &Submission{Command: command, Args: slices.Clone(args)}
	for at := 0; ; {
		options, rest, err := parseOptions(command, args[at:])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNotAdvised, command, err)
		}
		for i := range options {
			options[i].word += at
		}
		c := Component{options: options, end: at + rest}
		if rest > 0 && args[c.end-1] == "--" {
			c.end--
		}
		next := at + rest
		if next < len(args) && args[next] == ":" {
			s.Components = append(s.Components, c)
			at = next + 1
			continue
		}
		if next < len(args) {
			c.program = args[next]
		}
		s.Components = append(s.Components, c)
		break
	}
	return s, s.complete(env, readFile)
}

// complete adds what the script and the environment say before what the command
// line says.
func (s *Submission) complete(env func(string) string, readFile func(string) ([]byte, error)) error {
	last := &s.Components[len(s.Components)-1]
	var before []option
	if s.Command == "sbatch" && !last.has("wrap") {
		if last.program == "" {
			return fmt.Errorf("%w: the script comes from standard input, and what it asks for cannot be seen", ErrNotAdvised)
		}
		text, err := readFile(last.program)
		if err != nil {
			return fmt.Errorf("%w: the script cannot be read: %w", ErrNotAdvised, err)
		}
		if before, err = directives(text); err != nil {
			return err
		}
	}
	before = append(before, fromEnvironment(s.Command, env)...)
	for i := range s.Components {
		c := &s.Components[i]
		c.program = last.program
		c.options = append(slices.Clone(before), c.options...)
		for _, name := range []string{"jobid", "clusters", "nodefile", "het-group"} {
			if c.has(name) {
				return fmt.Errorf("%w: --%s", ErrNotAdvised, name)
			}
		}
		if strings.Contains(c.value("exclude")+c.value("nodelist"), "/") {
			return fmt.Errorf("%w: its nodes are listed in a file", ErrNotAdvised)
		}
	}
	return nil
}

// directives reads the #SBATCH lines at the head of a script.
func directives(script []byte) ([]option, error) {
	script = script[:min(len(script), mostScript)]
	var all []option
	for line := range bytes.SplitSeq(script, []byte("\n")) {
		text, isDirective := strings.CutPrefix(string(line), "#SBATCH")
		switch trimmed := strings.TrimSpace(string(line)); {
		case trimmed == "", strings.HasPrefix(trimmed, "#") && !isDirective:
			continue
		case !isDirective:
			return all, nil
		}
		words := shellWords(text)
		if slices.Contains(words, "hetjob") || slices.Contains(words, "packjob") {
			return nil, fmt.Errorf("%w: its script describes a heterogeneous job", ErrNotAdvised)
		}
		options, _, err := parseOptions("sbatch", words)
		if err != nil {
			return nil, fmt.Errorf("%w: its script: #SBATCH%s: %w", ErrNotAdvised, text, err)
		}
		for _, o := range options {
			all = append(all, option{name: o.name, value: o.value})
		}
	}
	return all, nil
}

// shellWords splits a line at blanks, as sbatch does: quotes keep a word
// together, a backslash takes the next character as it is, # ends the line.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote byte
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && quote != '\'':
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\r':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case c == '#' && !inWord:
			return words
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// fromEnvironment returns the options that stand in the environment (man sbatch,
// INPUT ENVIRONMENT VARIABLES), as far as they matter here.
func fromEnvironment(command string, env func(string) string) []option {
	prefix := map[string]string{"sbatch": "SBATCH_", "salloc": "SALLOC_", "srun": "SLURM_"}[command]
	var all []option
	for _, v := range []struct{ variable, option string }{
		{"PARTITION", "partition"},
		{"MEM_PER_NODE", "mem"},
		{"MEM_PER_CPU", "mem-per-cpu"},
		{"GRES", "gres"},
		{"GPUS", "gpus"},
		{"GPUS_PER_NODE", "gpus-per-node"},
		{"GPUS_PER_TASK", "gpus-per-task"},
		{"RESERVATION", "reservation"},
		{"TIMELIMIT", "time"},
		{"CONSTRAINT", "constraint"},
		{"JOB_NAME", "job-name"},
		{"EXCLUSIVE", "exclusive"},
		{"ARRAY_INX", "array"},
		{"CLUSTERS", "clusters"},
	} {
		if value := env(prefix + v.variable); value != "" {
			all = append(all, option{name: v.option, value: value})
		}
	}
	if command == "srun" {
		for _, v := range []struct{ variable, option string }{
			{"NTASKS", "ntasks"}, {"NNODES", "nodes"}, {"CPUS_PER_TASK", "cpus-per-task"},
		} {
			if value := env(prefix + v.variable); value != "" {
				all = append(all, option{name: v.option, value: value})
			}
		}
	}
	return all
}

func (c *Component) has(name string) bool {
	return slices.ContainsFunc(c.options, func(o option) bool { return o.name == name })
}

// value returns what an option was set to last; empty when it was not.
func (c *Component) value(name string) string {
	for _, o := range slices.Backward(c.options) {
		if o.name == name {
			return o.value
		}
	}
	return ""
}

// Excluded is what the user excludes, as a host list; empty for nothing.
func (c *Component) Excluded() string {
	names, err := hostlist.Expand(c.value("exclude"))
	if err != nil {
		return ""
	}
	return hostlist.Compress(names)
}

// number returns an option as a number of 1 or more; otherwise, or 0 for none.
func (c *Component) number(name string, otherwise int) int {
	digits := c.value(name)
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end] // of 2-4 and 2@... the fewest count
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 1<<20 {
		return otherwise
	}
	return n
}

// RequestOf returns what a component of a submission asks for; user is who
// submits it. It fails on host lists that Slurm would refuse.
func (s *Site) RequestOf(c *Component, user string) (Request, error) {
	j := Job{Name: c.value("job-name"), Comment: c.value("comment"), User: user}
	if j.Name == "" {
		j.Name = path.Base(c.program)
	}
	if c.has("wrap") && !c.has("job-name") {
		j.Name = "wrap"
	}
	r := Request{
		Nodes: c.number("nodes", 1), Features: c.value("constraint"),
		Exclusive:     c.has("exclusive") && !slices.Contains([]string{"user", "mcs", "no"}, c.value("exclusive")),
		ExclusiveUser: c.value("exclusive") == "user",
		Limit:         s.Limit(&j), Copies: 1,
	}
	r.Application, r.Source = s.application(&j)
	tasks := c.number("ntasks", r.Nodes*c.number("ntasks-per-node", 1))
	if !c.has("nodes") && c.has("ntasks-per-node") {
		perNode := c.number("ntasks-per-node", 1)
		r.Nodes = (tasks + perNode - 1) / perNode
	}
	r.CPUsPerNode = float64(tasks*c.number("cpus-per-task", 1)) / float64(r.Nodes)
	if partition := c.value("partition"); partition != "" {
		r.Partitions = strings.Split(partition, ",")
	}
	if c.has("array") {
		r.Copies = pendingTasks(c.value("array"))
	}
	r.User, r.Reservation, r.TimeLimit = user, c.value("reservation"), minutes(c.value("time"))
	r.Memory, r.Gres = c.memory(&r), c.gres(&r, tasks)
	var err, err2 error
	r.Excluded, err = hostlist.Expand(c.value("exclude"))
	r.Required, err2 = hostlist.Expand(c.value("nodelist"))
	return r, errors.Join(err, err2)
}

// RequestIn is RequestOf in a cluster. A job that does not say how many nodes it wants
// gets as many as Slurm would need for its CPUs.
func (s *Site) RequestIn(c *Cluster, component *Component, user string) (Request, error) {
	r, err := s.RequestOf(component, user)
	if err != nil || component.has("nodes") || component.has("ntasks-per-node") {
		return r, err
	}
	partitions, most := r.partitions(c), 0
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if len(partitions) == 0 || slices.ContainsFunc(partitions, func(p string) bool { return slices.Contains(n.Partitions, p) }) {
			most = max(most, n.CPUs)
		}
	}
	if most == 0 || r.CPUsPerNode <= float64(most) {
		return r, nil
	}
	// CPUs of one task are on one node.
	perTask := component.number("cpus-per-task", 1)
	tasks := max(1, most/perTask)
	nodes := (component.number("ntasks", 1) + tasks - 1) / tasks
	spread := *component
	spread.options = append(slices.Clone(component.options), option{name: "nodes", value: strconv.Itoa(nodes)})
	return s.RequestOf(&spread, user)
}

// memory returns what the component asks for on each node, in MiB; 0 when it asks for
// none.
func (c *Component) memory(r *Request) int {
	switch {
	case c.has("mem"):
		return mebibytes(c.value("mem"))
	case c.has("mem-per-cpu"):
		return int(math.Ceil(float64(mebibytes(c.value("mem-per-cpu"))) * r.CPUsPerNode))
	}
	return 0
}

// gres returns the generic resources that the component asks for on each node.
func (c *Component) gres(r *Request, tasks int) map[string]int {
	gpus := func(name string) string {
		if v := c.value(name); v != "" {
			return "gpu:" + strings.ReplaceAll(v, ",", ",gpu:")
		}
		return ""
	}
	join := func(lists ...string) string {
		return strings.Join(slices.DeleteFunc(lists, func(s string) bool { return s == "" || s == "NONE" }), ",")
	}
	perNode := perNodeGres{nodes: r.Nodes, tasks: (tasks + r.Nodes - 1) / r.Nodes}
	return perNode.sum(join(c.value("gres"), gpus("gpus-per-node")), gpus("gpus"), join(c.value("tres-per-task"), gpus("gpus-per-task")), gpus("gpus-per-socket"))
}

// minutes reads a time limit as sbatch does, where a number alone means minutes, and
// "D-HH" and "D-HH:MM" have no seconds; 0 for none.
func minutes(text string) time.Duration {
	days, clock, hasDays := strings.Cut(strings.TrimSpace(text), "-")
	switch colons := strings.Count(text, ":"); {
	case text == "":
		return 0
	case !hasDays && colons == 0:
		return time.Duration(min(whole(text), maxDuration/int64(time.Minute))) * time.Minute
	case hasDays && colons == 0:
		return duration(days + "-" + clock + ":00:00")
	case hasDays && colons == 1:
		return duration(days + "-" + clock + ":00")
	}
	return duration(text)
}

// ParseTimeLimit reads a time limit as sbatch does; 0 for one that is unlimited.
func ParseTimeLimit(text string) (time.Duration, error) {
	limit := minutes(text)
	if limit <= 0 && !slices.Contains([]string{"", "0", "-1", "infinite", "unlimited"}, strings.ToLower(text)) {
		return 0, fmt.Errorf("time limit %q: want minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS", text)
	}
	return limit, nil
}

// WithExcluded returns the arguments with a list of nodes to exclude for each
// component; an empty one leaves the component as it is. The list goes last, so
// that it takes the place of the user's own, which it has to contain.
func (s *Submission) WithExcluded(lists []string) []string { return s.arguments(lists, false) }

// Question is WithExcluded for --test-only, without --quiet: Slurm would not answer. In a
// script it stays.
func (s *Submission) Question(lists []string) []string { return s.arguments(lists, true) }

func (s *Submission) arguments(lists []string, aloud bool) []string {
	args := slices.Clone(s.Args)
	for i, c := range slices.Backward(s.Components) {
		if lists[i] != "" {
			args = slices.Insert(args, c.end, "--exclude="+lists[i])
		}
		for _, o := range slices.Backward(c.options) {
			if aloud && o.name == "quiet" && o.word > 0 {
				args = withoutQuiet(args, o.word-1)
			}
		}
	}
	return args
}

// withoutQuiet returns arguments without --quiet in one of them, or without its letter.
func withoutQuiet(args []string, at int) []string {
	if rest := strings.Replace(args[at], "Q", "", 1); !strings.HasPrefix(rest, "--") && rest != "-" {
		args[at] = rest
		return args
	}
	return slices.Delete(args, at, at+1)
}
