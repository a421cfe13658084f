// Package sbatch reads the command lines of sbatch, srun and salloc, and the scripts that they
// name, and inserts nodes to exclude into them.
package sbatch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// Submission is a command line of sbatch, srun or salloc, understood so far that
// nodes can be excluded for it.
type Submission struct {
	// Command is sbatch, srun or salloc.
	Command string
	// Args are its arguments as they were given.
	Args []string
	// Components are the parts of a heterogeneous job, separated by colons or, in a
	// script, by hetjob; of any other job there is one.
	Components []Component

	// pieces of Args are separated by colons. The last one is of all components that have
	// none of their own.
	pieces []piece
}

// Component is what one part of a submission asks for.
type Component struct {
	options []option // later ones count
	// Program is the script or program; empty without one.
	Program string
}

// piece is a part of a command line.
type piece struct {
	options []option
	// begin and end are those of its options in Args: another option can be inserted at
	// the end.
	begin, end int
}

// ErrNotAdvised is wrapped where a submission is in order, but is better left as
// it is.
var ErrNotAdvised = errors.New("submitted without advice")

const (
	// mostScript bounds how much of a script is read for its #SBATCH lines.
	mostScript = 1 << 20
	// mostComponents is how many components a job may have (MAX_HET_JOB_COMPS of Slurm).
	mostComponents = 128
)

// Parse understands a command line. readFile reads a script for its
// #SBATCH lines; env looks up variables of the environment, which count less than
// the command line and, for sbatch, more than the script. The error wraps
// ErrNotAdvised for what is right but not for Bandmate to touch; any other error
// means that Slurm may well refuse it too.
func Parse(command string, args []string, env func(string) string, readFile func(string) ([]byte, error)) (*Submission, error) {
	if !slices.Contains([]string{"sbatch", "srun", "salloc"}, command) {
		return nil, fmt.Errorf("%q: want sbatch, srun or salloc", command)
	}
	if command == "srun" && env("SLURM_JOB_ID") != "" {
		return nil, fmt.Errorf("%w: this srun starts a step inside job %s", ErrNotAdvised, env("SLURM_JOB_ID"))
	}
	s := &Submission{Command: command, Args: slices.Clone(args)}
	for at := 0; ; {
		options, end, err := parseOptions(command, args[at:])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNotAdvised, command, err)
		}
		for i := range options {
			options[i].word += at
		}
		s.pieces = append(s.pieces, piece{options: options, begin: at, end: at + end})
		at += end
		if at < len(args) && args[at] == "--" {
			at++
		}
		if at == len(args) {
			return s, s.complete("", env, readFile)
		}
		if args[at] != ":" {
			return s, s.complete(args[at], env, readFile)
		}
		at++
	}
}

// inheritable are the options, of those that matter here, that a component without them has
// from the one before it.
var inheritable = []string{"comment", "exclude", "job-name", "mem", "reservation", "time"}

// complete makes the components of what the script, the environment and the command line
// say, in this order. What is described last, in the script or on the command line, is of
// all components after it as well.
func (s *Submission) complete(program string, env func(string) string, readFile func(string) ([]byte, error)) error {
	last := len(s.pieces) - 1
	if last > 0 && slices.ContainsFunc(s.pieces, func(p piece) bool { return len(p.options) == 0 }) {
		return fmt.Errorf("%w: nothing is said of a component between colons", ErrNotAdvised)
	}
	described := [][]option{nil}
	if wrapped := (&Component{options: s.pieces[last].options}).Has("wrap"); s.Command == "sbatch" && !wrapped {
		if program == "" {
			return fmt.Errorf("%w: the script comes from standard input, and what it asks for cannot be seen", ErrNotAdvised)
		}
		text, err := readFile(program)
		if err != nil {
			return fmt.Errorf("%w: the script cannot be read: %w", ErrNotAdvised, err)
		}
		if described, err = directives(text); err != nil {
			return err
		}
	}
	if n := max(len(described), len(s.pieces)); n > mostComponents {
		return fmt.Errorf("%w: it describes %d components: Slurm takes no more than %d", ErrNotAdvised, n, mostComponents)
	}
	around := fromEnvironment(s.Command, env)
	var before []option
	if s.Command == "sbatch" {
		// It reads all of the command line first, to find the script.
		for _, p := range s.pieces {
			before = append(before, p.options...)
		}
		before = inheritableOf(before)
	}
	s.Components = make([]Component, max(len(described), len(s.pieces)))
	for i := range s.Components {
		c := &s.Components[i]
		c.Program = program
		c.options = slices.Concat(before, described[min(i, len(described)-1)], around, s.pieces[min(i, last)].options)
		before = inheritableOf(c.options)
		for _, name := range []string{"jobid", "clusters", "nodefile", "het-group"} {
			if c.Has(name) {
				return fmt.Errorf("%w: --%s", ErrNotAdvised, name)
			}
		}
		if strings.Contains(c.Value("exclude")+c.Value("nodelist"), "/") {
			return fmt.Errorf("%w: its nodes are listed in a file", ErrNotAdvised)
		}
	}
	return nil
}

// inheritableOf returns the options that a component passes on to the next.
func inheritableOf(options []option) []option {
	c := Component{options: options}
	var all []option
	for _, name := range inheritable {
		if c.Has(name) {
			all = append(all, option{name: name, value: c.Value(name)})
		}
	}
	return all
}

// directives reads the #SBATCH lines at the head of a script, for each component that they
// describe.
func directives(script []byte) ([][]option, error) {
	script = script[:min(len(script), mostScript)]
	all := [][]option{nil}
	for line := range bytes.SplitSeq(script, []byte("\n")) {
		text, isDirective := strings.CutPrefix(string(line), "#SBATCH")
		switch trimmed := strings.TrimSpace(string(line)); {
		case trimmed == "", strings.HasPrefix(trimmed, "#") && !isDirective:
			continue
		case !isDirective:
			return all, nil
		}
		words := shellWords(text)
		if len(words) > 0 && (words[0] == "hetjob" || words[0] == "packjob") {
			all = append(all, nil)
			continue
		}
		options, _, err := parseOptions("sbatch", words)
		if err != nil {
			return nil, fmt.Errorf("%w: its script: #SBATCH%s: %w", ErrNotAdvised, text, err)
		}
		of := &all[len(all)-1]
		for _, o := range options {
			*of = append(*of, option{name: o.name, value: o.value})
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

// Has reports whether an option is set, by its long name.
func (c *Component) Has(name string) bool {
	return slices.ContainsFunc(c.options, func(o option) bool { return o.name == name })
}

// Value returns what an option was set to last; empty when it was not.
func (c *Component) Value(name string) string {
	for _, o := range slices.Backward(c.options) {
		if o.name == name {
			return o.value
		}
	}
	return ""
}

// Nodes returns how many nodes the component wants, at least and at most.
func (c *Component) Nodes() (least, most int) {
	least = c.Number("nodes", 1)
	_, high, isRange := strings.Cut(c.Value("nodes"), "-")
	switch {
	case !c.Has("nodes"):
		return least, math.MaxInt
	case isRange:
		most, _ = strconv.Atoi(high) // 0 where it is no number
		return least, max(least, most)
	}
	return least, least
}

// Splits reports whether Slurm may place more of so many tasks on one of so many nodes than on
// another.
func (c *Component) Splits(tasks, nodes int) bool {
	_, most := c.Nodes()
	return most > 1 && tasks > nodes && !c.Has("ntasks-per-node") && !c.Has("overcommit")
}

// On returns a copy of the component that asks for this number of nodes.
func (c *Component) On(nodes int) *Component {
	return &Component{options: append(slices.Clone(c.options), option{name: "nodes", value: strconv.Itoa(nodes)}), Program: c.Program}
}

// Excluded is what the user excludes, as a host list; empty for nothing.
func (c *Component) Excluded() string {
	names, err := hostlist.Expand(c.Value("exclude"))
	if err != nil {
		return ""
	}
	return hostlist.Compress(names)
}

// Number returns an option as a number of 1 or more; otherwise, or 0 for none.
func (c *Component) Number(name string, otherwise int) int {
	digits := c.Value(name)
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end] // of 2-4 and 2@... the fewest count
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 1<<20 {
		return otherwise
	}
	return n
}

// WithExcluded returns the arguments with a list of nodes to exclude for each
// component, empty for none; empty ones alone leave the submission as it is. The list goes
// last, so that it takes the place of the user's own, which it has to contain. Components
// that share a piece of the command line get a piece each, if their lists differ.
func (s *Submission) WithExcluded(lists []string) []string { return s.arguments(lists, false) }

// Question is WithExcluded for --test-only, without --quiet: Slurm would not answer. In a
// script it stays.
func (s *Submission) Question(lists []string) []string { return s.arguments(lists, true) }

func (s *Submission) arguments(lists []string, aloud bool) []string {
	last := len(s.pieces) - 1
	parted := slices.ContainsFunc(lists[last:], func(list string) bool { return list != lists[last] })
	excluding := slices.ContainsFunc(lists, func(list string) bool { return list != "" })
	var args []string
	for i, list := range lists {
		p := s.pieces[min(i, last)]
		if i > last {
			if !parted {
				break
			}
			args = append(args, ":")
		}
		words := p.words(s.Args, aloud)
		// Without a list of its own, a component inherits that of another one. Without any
		// option, it is like the one before it.
		if excluding || len(words) == 0 && len(p.options) > 0 && len(lists) > 1 {
			words = append(words, "--exclude="+list)
		}
		args = append(args, words...)
		if i < last {
			args = append(args, s.Args[p.end:s.pieces[i+1].begin]...)
		}
	}
	return append(args, s.Args[s.pieces[last].end:]...)
}

// words returns the words of a piece; aloud, those without --quiet.
func (p piece) words(args []string, aloud bool) []string {
	words := slices.Clone(args[p.begin:p.end])
	for _, o := range slices.Backward(p.options) {
		if aloud && o.name == "quiet" {
			words = withoutQuiet(words, o.word-1-p.begin)
		}
	}
	return words
}

// withoutQuiet returns arguments without --quiet in one of them, or without its letter.
func withoutQuiet(args []string, at int) []string {
	if rest := strings.Replace(args[at], "Q", "", 1); !strings.HasPrefix(rest, "--") && rest != "-" {
		args[at] = rest
		return args
	}
	return slices.Delete(args, at, at+1)
}
