package slurm

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/slurm/sbatch/sbatchtest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bandmate.dev/bandmate/slurm/sbatch"
)

func TestSubmission(t *testing.T) {
	for _, test := range []struct {
		command, args string // args are separated by |
		env           func(string) string
		want          Request
		with          string // args with n1 excluded
	}{
		{
			"sbatch", "plain.sh|-n|5", sbatchtest.Environ(),
			Request{Application: "plain.sh", Source: "job name", Nodes: 1, CPUsPerNode: 1},
			"--exclude=n1|plain.sh|-n|5",
		},
		{
			"sbatch", "-n2|--mem=2G|--gres=gpu:a100:2,tape|--reservation=maint|-t|1-12|plain.sh", sbatchtest.Environ("SBATCH_MEM_PER_CPU=9"),
			Request{
				Application: "plain.sh", Source: "job name", Nodes: 1, CPUsPerNode: 2, CPUsPerTask: 1, Memory: 2048, Reservation: "maint",
				Gres: map[string]int{"gpu": 2, "gpu:a100": 2, "tape": 1}, TimeLimit: 36 * time.Hour,
			},
			"-n2|--mem=2G|--gres=gpu:a100:2,tape|--reservation=maint|-t|1-12|--exclude=n1|plain.sh",
		},
		{
			"sbatch", "-N2|-n4|-G3|--mem-per-cpu|100|-t90|plain.sh", sbatchtest.Environ(),
			Request{
				Application: "plain.sh", Source: "job name", Nodes: 2, CPUsPerNode: 2, CPUsPerTask: 1, Memory: 200,
				Gres: map[string]int{"gpu": 2}, TimeLimit: 90 * time.Minute,
			},
			"-N2|-n4|-G3|--mem-per-cpu|100|-t90|--exclude=n1|plain.sh",
		},
		{
			"sbatch", "--exclusive=user|plain.sh", sbatchtest.Environ(),
			Request{Application: "plain.sh", Source: "job name", Nodes: 1, CPUsPerNode: 1, ExclusiveUser: true},
			"--exclusive=user|--exclude=n1|plain.sh",
		},
		{
			"sbatch", "-n8|-c2|-N2|--comment=bandmate=md bandmate-limit=1.2|plain.sh", sbatchtest.Environ(),
			Request{Application: "md", Source: "comment", Nodes: 2, CPUsPerNode: 8, CPUsPerTask: 2, Limit: 1.2},
			"-n8|-c2|-N2|--comment=bandmate=md bandmate-limit=1.2|--exclude=n1|plain.sh",
		},
		{
			"sbatch", "run.sh", sbatchtest.Environ(),
			Request{Application: "scripted", Source: "comment", Nodes: 2, CPUsPerNode: 4, Partitions: []string{"odd"}, Excluded: []string{"n9"}},
			"--exclude=n1|run.sh",
		},
		{
			"sbatch", "-p|pack,odd|-x|n[7-8]|run.sh", sbatchtest.Environ("SBATCH_PARTITION=share", "SBATCH_CONSTRAINT=fast"),
			Request{Application: "scripted", Source: "comment", Nodes: 2, CPUsPerNode: 4, Partitions: []string{"pack", "odd"}, Features: "fast", Excluded: []string{"n7", "n8"}},
			"-p|pack,odd|-x|n[7-8]|--exclude=n1|run.sh",
		},
		{
			"sbatch", "--wrap|sleep 60|--array=0-9%4|-J|lmp", sbatchtest.Environ(),
			Request{Application: "lmp", Source: "job name", Nodes: 1, CPUsPerNode: 1, Copies: 4},
			"--wrap|sleep 60|--array=0-9%4|-J|lmp|--exclude=n1",
		},
		{
			"sbatch", "--wrap=sleep 60|--excl|-w|n[1-2]", sbatchtest.Environ(),
			Request{},
			"", // --excl can be exclude or exclusive
		},
		{
			"sbatch", "--wrap=sleep 60|--exclusive|-w|n[1-2]|--ntasks-per|2|-n|6", sbatchtest.Environ(),
			Request{},
			"", // several options begin so
		},
		{
			"sbatch", "--wrap=sleep 60|--exclusive|-w|n[1-2]|--ntasks-per-node|2|-n|6", sbatchtest.Environ(),
			Request{Application: "wrap", Source: "job name", Nodes: 3, CPUsPerNode: 2, Exclusive: true, Required: []string{"n1", "n2"}},
			"--wrap=sleep 60|--exclusive|-w|n[1-2]|--ntasks-per-node|2|-n|6|--exclude=n1",
		},
		{
			"srun", "-N|2-4|-n|4|--|./lmp|-x|y", sbatchtest.Environ("SLURM_CPUS_PER_TASK=3"),
			Request{Application: "lmp", Source: "job name", Nodes: 2, CPUsPerNode: 6, CPUsPerTask: 3},
			"-N|2-4|-n|4|--exclude=n1|--|./lmp|-x|y",
		},
		{
			"salloc", "-n4|--comm|bandmate=md", sbatchtest.Environ(),
			Request{Application: "md", Source: "comment", Nodes: 1, CPUsPerNode: 4, CPUsPerTask: 1},
			"-n4|--comm|bandmate=md|--exclude=n1",
		},
	} {
		s, err := sbatch.Parse(test.command, strings.Split(test.args, "|"), test.env, sbatchtest.Script)
		if test.with == "" {
			if !errors.Is(err, sbatch.ErrNotAdvised) {
				t.Errorf("%s: %v", test.args, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		got, err := (&Site{}).RequestOf(&s.Components[0], "alice")
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
		}
		if test.want.Copies == 0 {
			test.want.Copies = 1
		}
		test.want.User = "alice"
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Request{})); diff != "" {
			t.Errorf("%s: %s", test.args, diff)
		}
		if with := strings.Join(s.WithExcluded([]string{"n1"}), "|"); with != test.with {
			t.Errorf("%s: becomes %s, want %s", test.args, with, test.with)
		}
	}
}

func TestSubmissionOfComponents(t *testing.T) {
	args := strings.Split("-N1|--comment=bandmate=a|:|-N2|--comment=bandmate=b|plain.sh|:|x", "|")
	s, err := sbatch.Parse("sbatch", args, sbatchtest.Environ(), sbatchtest.Script)
	if err != nil || len(s.Components) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, want := range []string{"a", "b"} {
		if r, err := (&Site{}).RequestOf(&s.Components[i], ""); err != nil || r.Application != want || r.Nodes != i+1 {
			t.Errorf("component %d: %+v, %v", i, r, err)
		}
	}
	got := strings.Join(s.WithExcluded([]string{"n1", "n2"}), "|")
	if want := "-N1|--comment=bandmate=a|--exclude=n1|:|-N2|--comment=bandmate=b|--exclude=n2|plain.sh|:|x"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := s.WithExcluded([]string{"", ""}); !slices.Equal(got, args) {
		t.Errorf("without exclusions: %q", got)
	}
}

// The lines of a script before and after hetjob are of a component each; what the command
// line says is of all, or, after a colon, of those that are left. Slurm 22.05 was seen to
// take them so.
func TestSubmissionOfComponentsInAScript(t *testing.T) {
	for _, test := range []struct {
		args, lists, want string
		applications      string
		nodes             []int
	}{
		{"het.sh", "n1 n1", "--exclude=n1|het.sh", "a b", []int{1, 2}},
		{"het.sh|x", "n1 n2", "--exclude=n1|:|--exclude=n2|het.sh|x", "a b", []int{1, 2}},
		{"het.sh", "- -", "het.sh", "a b", []int{1, 2}},
		{"het.sh", "n1 -", "--exclude=n1|:|--exclude=|het.sh", "a b", []int{1, 2}},
		{"het.sh", "- n2", "--exclude=|:|--exclude=n2|het.sh", "a b", []int{1, 2}},
		{"-N3|--|het.sh", "n1 -", "-N3|--exclude=n1|:|-N3|--exclude=|--|het.sh", "a b", []int{3, 3}},
		{"-N3|:|-N4|het.sh", "n1 n2", "-N3|--exclude=n1|:|-N4|--exclude=n2|het.sh", "a b", []int{3, 4}},
		{"-n1|:|-n1|:|-n1|het.sh", "- - n3", "-n1|--exclude=|:|-n1|--exclude=|:|-n1|--exclude=n3|het.sh", "a b b", []int{1, 2, 2}},
	} {
		s, err := sbatch.Parse("sbatch", strings.Split(test.args, "|"), sbatchtest.Environ(), sbatchtest.Script)
		if err != nil || len(s.Components) != len(test.nodes) {
			t.Fatalf("%s: %+v, %v", test.args, s, err)
		}
		for i, application := range strings.Fields(test.applications) {
			r, err := (&Site{}).RequestOf(&s.Components[i], "")
			if err != nil || r.Application != application || r.Nodes != test.nodes[i] || s.Components[i].Value("job-name") != "leader" {
				t.Errorf("%s: component %d: %+v, %v", test.args, i, r, err)
			}
		}
		if partition := s.Components[1].Value("partition"); partition != "" {
			t.Errorf("%s: the second component is in partition %q of the first", test.args, partition)
		}
		lists := strings.Fields(strings.ReplaceAll(test.lists, "-", `""`))
		for i := range lists {
			lists[i] = strings.Trim(lists[i], `"`)
		}
		if got := strings.Join(s.WithExcluded(lists), "|"); got != test.want {
			t.Errorf("%s without %s: %s, want %s", test.args, test.lists, got, test.want)
		}
	}
}

// A job that does not say how many nodes it wants gets as many as its CPUs take.
func TestRequestOfManyTasks(t *testing.T) {
	c := &Cluster{
		Partitions: []Partition{{Name: "wide", Default: true}, {Name: "narrow"}},
		Nodes:      []Node{{Name: "n1", CPUs: 8, Partitions: []string{"wide"}}, {Name: "n2", CPUs: 4, Partitions: []string{"narrow"}}},
	}
	for _, test := range []struct {
		args  string
		nodes int
		cpus  float64
	}{
		{"-n16|plain.sh", 2, 8},
		{"-n8|plain.sh", 1, 8},
		{"-n4|-c4|plain.sh", 2, 8},
		{"-n16|-p|narrow|plain.sh", 4, 4},
		{"-n16|-N1|plain.sh", 1, 16},
		{"-n3|-c5|plain.sh", 3, 5},
		{"-n1|-c99|plain.sh", 1, 99},
	} {
		s, err := sbatch.Parse("sbatch", strings.Split(test.args, "|"), sbatchtest.Environ(), sbatchtest.Script)
		if err != nil {
			t.Fatal(err)
		}
		r, err := (&Site{}).RequestIn(c, &s.Components[0], "user")
		if err != nil || r.Nodes != test.nodes || r.CPUsPerNode != test.cpus {
			t.Errorf("%s: %d nodes of %v CPUs, %v; want %d of %v", test.args, r.Nodes, r.CPUsPerNode, err, test.nodes, test.cpus)
		}
	}
}

// What a submission asks for is in order wherever it names an application.
func FuzzRequestOf(f *testing.F) {
	f.Add("sbatch", "-n8|-c2|:|-N2|plain.sh", "#SBATCH -N 2 'a b' \\x\n")
	f.Add("srun", "--ntasks=4|--mem=1T|--gres=gpu:2|--array=1-9|--|./a", "")
	f.Fuzz(func(t *testing.T, command, args, script string) {
		readFile := func(string) ([]byte, error) { return []byte(script), nil }
		s, err := sbatch.Parse(command, strings.Split(args, "|"), sbatchtest.Environ(), readFile)
		if err != nil {
			return
		}
		for i := range s.Components {
			r, err := (&Site{}).RequestOf(&s.Components[i], "alice")
			if err == nil && r.Application != "" {
				if err := r.Validate(); err != nil {
					t.Fatalf("%q: %v", args, err)
				}
			}
		}
	})
}
