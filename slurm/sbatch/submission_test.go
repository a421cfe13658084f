package sbatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/slurm/sbatch/sbatchtest"
)

// Slurm does not answer --test-only where it is to be quiet, and refuses --verbose beside it.
func TestSubmissionQuestion(t *testing.T) {
	for args, want := range map[string]string{
		"plain.sh":                         "--exclude=n1|plain.sh",
		"-Q|plain.sh|-Q":                   "--exclude=n1|plain.sh|-Q",
		"-n2|--quiet|-HQ|plain.sh":         "-n2|-H|--exclude=n1|plain.sh",
		"-QQ|--quie|-JQ|-c|2|plain.sh":     "-JQ|-c|2|--exclude=n1|plain.sh",
		"-Q|-n1|:|-n2|-QJ|Queen|plain.sh":  "-n1|--exclude=n1|:|-n2|-J|Queen|--exclude=n1|plain.sh",
		"-J|-Q|--comment=--quiet|quiet.sh": "-J|-Q|--comment=--quiet|--exclude=n1|quiet.sh",
		"-Q|het.sh":                        "--exclude=n1|het.sh",
	} {
		s, err := Parse("sbatch", strings.Split(args, "|"), sbatchtest.Environ(), sbatchtest.Script)
		if err != nil {
			t.Fatal(err)
		}
		lists := slices.Repeat([]string{"n1"}, len(s.Components))
		if got := strings.Join(s.Question(lists), "|"); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// Slurm 22.05 was seen to keep some options from one component to the next, and sbatch to
// begin with those that come last on the command line.
func TestOptionsKeptBetweenComponents(t *testing.T) {
	for _, test := range []struct{ command, args, name, want string }{
		{"srun", "-n1|--comment=a|:|-n1|:|-n1|--comment=b|x", "comment", "a a b"},
		{"srun", "-n1|:|-n1|-xn2|:|-n1|x", "exclude", "- n2 n2"},
		{"salloc", "-n1|-t3|:|-n1", "time", "3 3"},
		{"sbatch", "-n1|:|-n2|--comment=b|:|-n1|plain.sh", "comment", "b b b"},
		{"sbatch", "-n1|-Jx|:|-n2|-Jy|:|-n1|plain.sh", "job-name", "x y y"},
		{"sbatch", "-n1|:|-n2|--mem=5|het.sh", "mem", "5 5"},
		{"sbatch", "-n1|:|-n1|--comment=x|het.sh", "comment", "bandmate=a x"},
		{"sbatch", "-n1|-podd|:|-n1|plain.sh", "partition", "odd -"},
		{"sbatch", "-n1|:|-n1|-podd|plain.sh", "partition", "- odd"},
	} {
		s, err := Parse(test.command, strings.Split(test.args, "|"), sbatchtest.Environ(), sbatchtest.Script)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range s.Components {
			value := c.Value(test.name)
			if value == "" {
				value = "-"
			}
			got = append(got, value)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s %s: --%s is %q, want %s", test.command, test.args, test.name, got, test.want)
		}
	}
}

func TestSubmissionsNotAdvised(t *testing.T) {
	for _, test := range []struct {
		command, args string
		env           func(string) string
		want          string
	}{
		{"sbatch", "-n4", sbatchtest.Environ(), "standard input"},
		{"sbatch", "missing.sh", sbatchtest.Environ(), "missing.sh"},
		{"sbatch", "many.sh", sbatchtest.Environ(), "129 components"},
		{"sbatch", "-n1|:|plain.sh", sbatchtest.Environ(), "between colons"},
		{"sbatch", "odd.sh", sbatchtest.Environ(), "--no-such-thing"},
		{"sbatch", "--brand-new-option|plain.sh", sbatchtest.Environ(), "--brand-new-option"},
		{"sbatch", "-n", sbatchtest.Environ(), "--ntasks: its value is missing"},
		{"sbatch", "-M|alps|plain.sh", sbatchtest.Environ(), "--clusters"},
		{"sbatch", "-x|./nodes.txt|plain.sh", sbatchtest.Environ(), "listed in a file"},
		{"srun", "hostname", sbatchtest.Environ("SLURM_JOB_ID=5"), "inside job 5"},
		{"srun", "--jobid=5|hostname", sbatchtest.Environ(), "--jobid"},
	} {
		_, err := Parse(test.command, strings.Split(test.args, "|"), test.env, sbatchtest.Script)
		if !errors.Is(err, ErrNotAdvised) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want: %s", test.command, test.args, err, test.want)
		}
	}
	if _, err := Parse("scancel", nil, sbatchtest.Environ(), sbatchtest.Script); err == nil {
		t.Error("scancel was understood")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("sbatch", "-n8|-c2|:|-N2|plain.sh", "#SBATCH -N 2 'a b' \\x\n")
	f.Add("sbatch", "-n8|--|plain.sh|:", "#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -Q\n")
	f.Add("srun", "--ntasks=4|--|./a", "")
	f.Add("sbatch", "-n|--|plain.sh|:", "")
	f.Fuzz(func(t *testing.T, command, args, script string) {
		words := strings.Split(args, "|")
		readFile := func(string) ([]byte, error) { return []byte(script), nil }
		s, err := Parse(command, words, sbatchtest.Environ(), readFile)
		if err != nil {
			return
		}
		lists := make([]string, len(s.Components))
		for i := range s.Components {
			lists[i] = fmt.Sprintf("n%d", i)
		}
		with := s.WithExcluded(lists)
		again, err := Parse(command, with, sbatchtest.Environ(), readFile)
		if err != nil || len(again.Components) != len(lists) {
			t.Fatalf("%q becomes %q: %v", words, with, err)
		}
		for i, c := range again.Components {
			if c.Value("exclude") != lists[i] || c.Program != s.Components[i].Program || !slices.Equal(values(c), values(s.Components[i])) {
				t.Fatalf("%q becomes %q: component %d is %v, was %v", words, with, i, values(c), values(s.Components[i]))
			}
		}
		unchanged := s.WithExcluded(make([]string, len(lists)))
		if !slices.Equal(unchanged, words) {
			t.Fatalf("%q becomes %q without exclusions", words, unchanged)
		}
	})
}

// values are the options of a component but those that exclude nodes.
func values(c Component) []string {
	var all []string
	for _, o := range c.options {
		if o.name != "exclude" {
			all = append(all, o.name+"="+o.value)
		}
	}
	return all
}
