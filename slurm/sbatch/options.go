package sbatch

import (
	"fmt"
	"slices"
	"strings"
)

// argument says whether an option of sbatch, srun or salloc takes a value.
type argument int

const (
	never    argument = iota
	always            // --name=value, --name value, -n value, -nvalue
	attached          // --name=value or -nvalue, never the next word
)

// longOptions are those of sbatch, srun and salloc from 22.05 to 25.05 (their man
// pages). The three agree on all but --wait, and -W with it.
func longOptions(command string) map[string]argument {
	options := make(map[string]argument)
	for kind, names := range map[argument]string{
		always: `accel-bind account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment
			constraint consolidate-segments container container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu
			cpus-per-task deadline delay-boot dependency distribution epilog error exclude export export-file extra
			extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags
			het-group hint input jobid job-name kill-on-invalid-dep licenses mail-type mail-user mcs-label mem
			mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile nodelist nodes ntasks
			ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output
			partition power prefer priority profile prolog qos relative reservation resv segment signal slurmd-debug
			sockets-per-node switches task-epilog task-prolog thread-spec threads threads-per-core time time-min
			tmp treewidth tres-bind tres-per-task uid wait-all-nodes wait-for-children wckey wrap`,
		attached: `bcast exclusive get-user-env immediate kill-command kill-on-bad-exit mail nice no-kill propagate pty
			resv-ports stepmgr compress x11 oom-kill-step`,
		never: `bell contiguous debugger-test disable-status exact external-launcher external help hold ignore-pbs
			interactive join label multi-prog no-allocate no-bell no-requeue no-shell overcommit overlap
			oversubscribe parsable preserve-env quiet quit-on-interrupt reboot requeue send-libs share spread-job
			test-only unbuffered usage use-min-nodes verbose version whole`,
	} {
		for name := range strings.FieldsSeq(names) {
			options[name] = kind
		}
	}
	options["wait"] = never
	if command == "srun" {
		options["wait"] = always
	}
	return options
}

// shortOptions maps letters to long options; '?' and the like are not among them.
func shortOptions() map[byte]string {
	return map[byte]string{
		'A': "account", 'a': "array", 'B': "extra-node-info", 'b': "begin", 'C': "constraint", 'c': "cpus-per-task",
		'D': "chdir", 'd': "dependency", 'E': "preserve-env", 'e': "error", 'F': "nodefile", 'G': "gpus", 'H': "hold",
		'h': "help", 'I': "immediate", 'i': "input", 'J': "job-name", 'K': "kill-on-bad-exit", 'k': "no-kill",
		'L': "licenses", 'l': "label", 'M': "clusters", 'm': "distribution", 'N': "nodes", 'n': "ntasks",
		'O': "overcommit", 'o': "output", 'p': "partition", 'Q': "quiet", 'q': "qos", 'r': "relative",
		'S': "core-spec", 's': "oversubscribe", 'T': "threads", 't': "time", 'u': "unbuffered", 'V': "version",
		'v': "verbose", 'W': "wait", 'w': "nodelist", 'X': "disable-status", 'x': "exclude", 'Z': "no-allocate",
	}
}

// option is one that was given, with its value; empty without one.
type option struct {
	name, value string
	// word is the number of its word on the command line, from 1; 0 where it stands
	// elsewhere.
	word int
}

// parseOptions reads options up to the first word that is none, "--" among them, and
// returns where that is. As getopt does, it takes the beginning of a long name for the
// whole where only one name begins so, and any word, even "--", for a value that an option
// needs.
func parseOptions(command string, words []string) (options []option, end int, err error) {
	long, short := longOptions(command), shortOptions()
	for i := 0; i < len(words); i++ {
		word, number := words[i], i+1
		next := func(name string) (string, error) {
			if i+1 == len(words) {
				return "", fmt.Errorf("--%s: its value is missing", name)
			}
			i++
			return words[i], nil
		}
		switch {
		case word == "--":
			return options, i, nil
		case strings.HasPrefix(word, "--"):
			name, value, hasValue := strings.Cut(word[2:], "=")
			if name, err = complete(long, name); err != nil {
				return nil, 0, err
			}
			if long[name] == always && !hasValue {
				if value, err = next(name); err != nil {
					return nil, 0, err
				}
			}
			options = append(options, option{name, value, number})
		case strings.HasPrefix(word, "-") && word != "-":
			for k := 1; k < len(word); k++ {
				name, ok := short[word[k]]
				if !ok {
					return nil, 0, fmt.Errorf("-%c is an option that Bandmate does not know", word[k])
				}
				value := ""
				if long[name] != never {
					value = strings.TrimPrefix(word[k+1:], "=")
					k = len(word)
				}
				if long[name] == always && value == "" {
					if value, err = next(name); err != nil {
						return nil, 0, err
					}
				}
				options = append(options, option{name, value, number})
			}
		default:
			return options, i, nil
		}
	}
	return options, len(words), nil
}

// complete returns the one option that begins like name.
func complete(options map[string]argument, name string) (string, error) {
	if _, ok := options[name]; ok {
		return name, nil
	}
	var candidates []string
	for option := range options {
		if name != "" && strings.HasPrefix(option, name) {
			candidates = append(candidates, option)
		}
	}
	slices.Sort(candidates)
	switch len(candidates) {
	case 0:
		return "", fmt.Errorf("--%s is an option that Bandmate does not know", name)
	case 1:
		return candidates[0], nil
	}
	return "", fmt.Errorf("--%s can be any of --%s", name, strings.Join(candidates, ", --"))
}
