// Package slurmfiles_test runs what Slurm would run of this folder.
package slurmfiles_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/slurm/watch"
)

// lua returns an interpreter. Slurm of Debian links against 5.1, others
// against what their distribution has.
func lua(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"lua5.1", "lua", "luajit", "lua5.3", "lua5.4"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	requires.Unmet(t, "needs a Lua interpreter: apt-get install lua5.1")
	return ""
}

// play runs a script on a job and returns what the harness printed.
func play(t *testing.T, interpreter, script, given string, job ...string) string {
	t.Helper()
	arguments := append([]string{"testdata/harness.lua", strings.TrimSuffix(script, ".lua"), script, given}, job...)
	output, err := exec.CommandContext(t.Context(), interpreter, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", interpreter, arguments, err, output)
	}
	return string(output)
}

const advice = `least-memory 1000
job-name nightly.sh stream
exclude stream pack 2 n[01-02]
exclude stream wide 9 n03
exclude x-1.5 pack 1 n[02-03]
exclude a%w+ pack 1 n01
`

// sized is advice that tells the CPUs.
const sized = "least-cpus 16\n" + advice

// whole is a table that was written some seconds ago.
func whole(ago int64, body string) string {
	return fmt.Sprintf("bandmate-advice 1\nwritten %d\nmax-age 60\n%send\n", time.Now().Unix()-ago, body)
}

func TestJobSubmit(t *testing.T) {
	interpreter := lua(t)
	for _, c := range []struct {
		name  string
		table string
		job   []string
		// excluded is empty where the job must pass unchanged.
		excluded string
	}{
		{name: "comment", table: whole(0, advice), job: []string{"comment=bandmate=stream", "partition=pack"}, excluded: "n[01-02]"},
		{name: "comment among others", table: whole(0, advice), job: []string{"comment=x=1;bandmate=x-1.5 y", "partition=pack"}, excluded: "n[02-03]"},
		{name: "name", table: whole(0, advice), job: []string{"name=stream", "partition=pack"}, excluded: "n[01-02]"},
		{name: "mapped name", table: whole(0, advice), job: []string{"name=nightly.sh", "partition=wide"}, excluded: "n03"},
		{name: "a comment that is no label", table: whole(0, advice), job: []string{"comment=bandmate=stream@2", "partition=pack"}},
		{name: "a name instead of a comment that is no label", table: whole(0, advice), job: []string{"name=stream", "comment=bandmate=Other bandmate=other", "partition=pack"}, excluded: "n[01-02]"},
		{name: "comment before name", table: whole(0, advice), job: []string{"name=stream", "comment=bandmate=other", "partition=pack"}},
		{name: "default partition", table: whole(0, advice), job: []string{"name=stream", "PARTITION:wide=default", "PARTITION:pack=no"}, excluded: "n03"},
		{name: "no partition", table: whole(0, advice), job: []string{"name=stream", "PARTITION:pack=no"}},
		{name: "as many nodes as remain", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_nodes=2"}, excluded: "n[01-02]"},
		{name: "more nodes than remain", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_nodes=3"}},
		{name: "two partitions", table: whole(0, advice), job: []string{"name=stream", "partition=pack,wide"}},
		{name: "user's node list", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "req_nodes=n01"}},
		{name: "user's exclusion", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "exc_nodes=n03"}},
		{name: "features", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "features=gpu"}},
		{name: "generic resources", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "tres_per_node=gres:gpu:1"}},
		{name: "GPUs of the job", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "tres_per_job=gres:gpu:1"}},
		{name: "GPUs of each task", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "tres_per_task=cpu:7,gres/gpu:1"}},
		{name: "CPUs of each task", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "tres_per_task=cpu=8"}, excluded: "n[01-02]"},
		{name: "threads of each core", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "threads_per_core=1"}},
		{name: "reservation", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "reservation=maint"}},
		{name: "memory that every node has", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_mem_per_node=1000"}, excluded: "n[01-02]"},
		{name: "more memory than some node has", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_mem_per_node=1001"}},
		{name: "more memory for all its CPUs", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_mem_per_cpu=300", "min_cpus=4"}},
		{name: "memory not given", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_mem_per_node=1.8446744073709552e19"}, excluded: "n[01-02]"},
		{name: "memory, and a table that tells none", table: strings.Replace(whole(0, advice), "least-memory 1000\n", "", 1), job: []string{"name=stream", "partition=pack", "min_mem_per_node=10"}},
		{name: "CPUs, and a table that tells none", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "min_cpus=64"}, excluded: "n[01-02]"},
		{name: "CPUs that every node has", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "min_cpus=16", "num_tasks=2", "cpus_per_task=8"}, excluded: "n[01-02]"},
		{name: "CPUs that two nodes have", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "min_cpus=32", "min_nodes=2"}, excluded: "n[01-02]"},
		{name: "CPUs not given", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "min_cpus=4294967294", "num_tasks=4294967294", "cpus_per_task=65534", "ntasks_per_node=0", "pn_min_cpus=65534", "threads_per_core=65534"}, excluded: "n[01-02]"},
		{name: "more CPUs than some node has", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "min_cpus=64", "min_nodes=1"}},
		{name: "a task of more CPUs", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "cpus_per_task=17", "min_nodes=2"}},
		{name: "tasks that leave CPUs over", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "num_tasks=3", "cpus_per_task=10", "min_nodes=2"}},
		{name: "more tasks on each node", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "ntasks_per_node=3", "cpus_per_task=8", "min_nodes=2"}},
		{name: "more CPUs on each node", table: whole(0, sized), job: []string{"name=stream", "partition=pack", "pn_min_cpus=17", "min_nodes=2"}},
		{name: "someone's admin comment", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "admin_comment=mine"}},
		{name: "nothing known", table: whole(0, advice), job: []string{"partition=pack"}},
		{name: "not a pattern", table: whole(0, advice), job: []string{"name=s.ream", "partition=pack"}},
		{name: "hostile name", table: whole(0, advice), job: []string{"name=$(touch x)\nexclude", "partition=pack"}},
		{name: "hostile comment", table: whole(0, advice), job: []string{"comment=bandmate=`id`%s%n", "partition=pack"}},
		{name: "old table", table: whole(61, advice), job: []string{"name=stream", "partition=pack"}},
		{name: "clock turned back", table: whole(0, advice), job: []string{"name=stream", "partition=pack", "TIME=-3600"}},
		{name: "table just fresh", table: whole(30, advice), job: []string{"name=stream", "partition=pack"}, excluded: "n[01-02]"},
		{name: "cut table", table: strings.TrimSuffix(whole(0, advice), "end\n"), job: []string{"name=stream", "partition=pack"}},
		{name: "empty table", table: "", job: []string{"name=stream", "partition=pack"}},
		{name: "table of another format", table: strings.Replace(whole(0, advice), "advice 1", "advice 2", 1), job: []string{"name=stream", "partition=pack"}},
		{name: "program instead of a table", table: "os.execute('id')\n" + whole(0, advice), job: []string{"name=stream", "partition=pack"}},
		{name: "no time", table: strings.Replace(whole(0, advice), "written", "wrote", 1), job: []string{"name=stream", "partition=pack"}},
		{name: "garbled line", table: whole(0, "exclude stream pack many n01\n"), job: []string{"name=stream", "partition=pack"}},
		{name: "no table", job: []string{"name=stream", "partition=pack"}, table: "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "advice.table")
			if c.table != "missing" {
				if err := os.WriteFile(file, []byte(c.table), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			output := play(t, interpreter, "job_submit.lua", file, c.job...)
			if !strings.Contains(output, "answer 0\n") {
				t.Errorf("the job does not pass:\n%s", output)
			}
			wantNothingForbidden(t, output)
			if got := setting(output, "exc_nodes"); got != c.excluded && !userSet(c.job, "exc_nodes", got) {
				t.Errorf("exc_nodes = %q, want %q\n%s", got, c.excluded, output)
			}
			if c.excluded != "" {
				if got, want := setting(output, "admin_comment"), "bandmate: exclude="+c.excluded; got != want {
					t.Errorf("admin_comment = %q, want %q", got, want)
				}
			}
		})
	}
}

// What the watch writes is what the script reads.
func TestTableOfTheWatch(t *testing.T) {
	table := watch.Table{Written: time.Now(), MaxAge: time.Minute, LeastCPUs: 16, Names: map[string]string{"nightly.sh": "stream", "two words": "stream"}, Lines: []watch.TableLine{
		{Application: "other", Partition: "pack", Kept: 1, Excluded: "n09"},
		{Application: "stream", Partition: "pack", Kept: 2, Excluded: "n[01-02,07]"},
	}}
	file := filepath.Join(t.TempDir(), "advice.table")
	if err := os.WriteFile(file, table.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	output := play(t, lua(t), "job_submit.lua", file, "comment=bandmate=stream", "partition=pack")
	if got, want := setting(output, "exc_nodes"), "n[01-02,07]"; got != want {
		t.Errorf("exc_nodes = %q, want %q\n%s", got, want, output)
	}
	output = play(t, lua(t), "job_submit.lua", file, "name=nightly.sh", "partition=pack")
	if got, want := setting(output, "exc_nodes"), "n[01-02,07]"; got != want {
		t.Errorf("by its name: exc_nodes = %q, want %q\n%s", got, want, output)
	}
	output = play(t, lua(t), "job_submit.lua", file, "comment=bandmate=stream", "partition=pack", "min_cpus=17")
	if got := setting(output, "exc_nodes"); got != "" {
		t.Errorf("a job of 17 CPUs: exc_nodes = %q, want none\n%s", got, output)
	}
}

func TestCLIFilter(t *testing.T) {
	interpreter := lua(t)
	for _, c := range []struct {
		name   string
		answer string
		job    []string
		// asked must be part of the command; empty where none may be asked.
		asked    string
		excluded string
	}{
		{name: "excludes", answer: "n[01-02]\n", job: []string{"comment=bandmate=stream"}, asked: "--application stream", excluded: "n[01-02]"},
		{name: "passes the size on", answer: "n01", job: []string{"comment=bandmate=stream", "nodes=2", "ntasks=4"}, asked: "--nodes=2", excluded: "n01"},
		{name: "a range of nodes", answer: "n01", job: []string{"comment=bandmate=stream", "nodes=2-4"}, asked: "--nodes=2-4 ", excluded: "n01"},
		{name: "a range and tasks", answer: "n01", job: []string{"comment=bandmate=stream", "nodes=2-4", "ntasks=3", "cpus-per-task=-2"}, asked: "--nodes=2-4 --ntasks=3 2>", excluded: "n01"},
		{name: "a range without tasks", answer: "n01", job: []string{"comment=bandmate=stream", "nodes=2-4", "ntasks=1"}, asked: "--application stream --nodes=2-4 2>", excluded: "n01"},
		{name: "no range", answer: "n01", job: []string{"comment=bandmate=stream", "nodes=1-0", "ntasks=5"}, asked: "--nodes=1 ", excluded: "n01"},
		{name: "numbers that stand for nothing", answer: "n01", job: []string{"comment=bandmate=stream", "ntasks=4294967294", "cpus-per-task=-2"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "resources are part of the question", answer: "n01", job: []string{"comment=bandmate=stream", "gres=gres:gpu:1", "mem=300M", "constraint=fast&big"}, asked: "--constraint='fast&big' --gres='gres:gpu:1' --mem='300M'", excluded: "n01"},
		{name: "resources that were not given", answer: "n01", job: []string{"comment=bandmate=stream", "mem=0", "gres=", "gpus=unset", "contiguous=false"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "resources that cannot be asked about", answer: "n01", job: []string{"comment=bandmate=stream", "gpus-per-task=1"}},
		{name: "tasks of each node", answer: "n01", job: []string{"comment=bandmate=stream", "ntasks-per-node=8"}},
		{name: "the time limit is part of the question", answer: "n01", job: []string{"comment=bandmate=stream", "time=1-12:30:00"}, asked: "--time='1-12:30:00' 2>", excluded: "n01"},
		{name: "a time limit that was not given", answer: "n01", job: []string{"comment=bandmate=stream", "time=(null)"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "a time limit that was not given, in Slurm 22.05", answer: "n01", job: []string{"comment=bandmate=stream", "time=2982616-04:14:00"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "another cluster", answer: "n01", job: []string{"comment=bandmate=stream", "clusters=other"}},
		{name: "no other cluster", answer: "n01", job: []string{"comment=bandmate=stream", "clusters=unset"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "an array", answer: "n01", job: []string{"comment=bandmate=stream", "array=0-99"}},
		{name: "a command without arrays", answer: "n01", job: []string{"comment=bandmate=stream", "array=invalid-context"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "sizes that were not given", answer: "n01", job: []string{"comment=bandmate=stream", "ntasks-per-node=-2", "mincpus=-1", "threads-per-core=-2", "exclusive=unset", "overcommit=unset", "core-spec=unset"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "exclusive", answer: "n01", job: []string{"comment=bandmate=stream", "exclusive=exclusive"}, asked: "--exclusive 2>", excluded: "n01"},
		{name: "one user for each node", answer: "n01", job: []string{"comment=bandmate=stream", "exclusive=user"}},
		{name: "nodes shared on request", answer: "n01", job: []string{"comment=bandmate=stream", "exclusive=oversubscribe"}},
		{name: "more tasks than CPUs", answer: "n01", job: []string{"comment=bandmate=stream", "ntasks=20", "overcommit=set"}},
		{name: "one thread of each core", answer: "n01", job: []string{"comment=bandmate=stream", "hint=nomultithread"}},
		{name: "cores for the system", answer: "n01", job: []string{"comment=bandmate=stream", "core-spec=1"}},
		{name: "the limit in the comment", answer: "n01", job: []string{"comment=bandmate-limit=1.15x;bandmate=stream"}, asked: "--limit=1.15 2>", excluded: "n01"},
		{name: "a limit that is none", answer: "n01", job: []string{"comment=bandmate=stream bandmate-limit=0.5"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "a limit that does not end", answer: "n01", job: []string{"comment=bandmate=stream bandmate-limit=1.15xy"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "a label up to a semicolon", answer: "n01", job: []string{"comment=x,bandmate=stream.2;y"}, asked: "--application stream.2 2>", excluded: "n01"},
		{name: "a label that does not end", answer: "n01", job: []string{"comment=bandmate=stream_2"}},
		{name: "a label in capitals", answer: "n01", job: []string{"comment=bandmate=Stream bandmate=stream"}},
		{name: "a label that ends in a hyphen", answer: "n01", job: []string{"comment=bandmate=stream-.x"}},
		{name: "hostile limit", answer: "n01", job: []string{"comment=bandmate=stream bandmate-limit=2$(id)"}, asked: "--application stream 2>", excluded: "n01"},
		{name: "hostile resources", answer: "n01", job: []string{"comment=bandmate=stream", "gres=gpu'$(id)"}},
		{name: "no label", answer: "n01", job: []string{"comment=hello"}},
		{name: "no comment", answer: "n01"},
		{name: "node list", answer: "n01", job: []string{"comment=bandmate=stream", "nodelist=n02"}},
		{name: "exclusion", answer: "n01", job: []string{"comment=bandmate=stream", "exclude=n02"}, excluded: "n02"},
		{name: "a component after one that excludes", answer: "n01", job: []string{"comment=bandmate=stream", "NEXT:comment=bandmate=other"}, asked: "--application other", excluded: "n01"},
		{name: "a component without a label after one that excludes", answer: "n01", job: []string{"comment=bandmate=stream", "NEXT:comment=x"}, asked: "--application stream"},
		{name: "exclusion of a component after one that excludes", answer: "n01", job: []string{"comment=bandmate=stream", "NEXT:exclude=n03"}, asked: "--application stream", excluded: "n03"},
		{name: "a component after one with an exclusion", answer: "n01", job: []string{"comment=bandmate=stream", "exclude=n02", "NEXT:comment=bandmate=other"}, excluded: "n02"},
		{name: "inside an allocation", answer: "n01", job: []string{"comment=bandmate=stream", "ENV:SLURM_JOB_ID=7"}},
		{name: "switched off", answer: "n01", job: []string{"comment=bandmate=stream", "ENV:BANDMATE_SLURM=off"}},
		{name: "nothing to exclude", answer: "\n", job: []string{"comment=bandmate=stream"}, asked: "stream"},
		{name: "no answer", answer: "", job: []string{"comment=bandmate=stream"}, asked: "stream"},
		{name: "an error instead of nodes", answer: "bandmate: no such profile", job: []string{"comment=bandmate=stream"}, asked: "stream"},
		{name: "two lines", answer: "n01\nn02\n", job: []string{"comment=bandmate=stream"}, asked: "stream"},
		{name: "an option instead of nodes", answer: "--reboot\n", job: []string{"comment=bandmate=stream"}, asked: "stream"},
		{name: "hostile partition is not passed on", answer: "n01\n", job: []string{"comment=bandmate=stream", "partition=$(id)"}, asked: "stream 2>/dev/null", excluded: "n01"},
		{name: "hostile application", answer: "n01\n", job: []string{"comment=bandmate=;id"}},
		{name: "an option as application", answer: "n01\n", job: []string{"comment=bandmate=--store=x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			output := play(t, interpreter, "cli_filter.lua", c.answer, c.job...)
			if !strings.Contains(output, "answer 0\n") {
				t.Errorf("the job does not pass:\n%s", output)
			}
			wantNothingForbidden(t, output)
			asked := ""
			if i := strings.LastIndex(output, "asks "); i >= 0 {
				asked, _, _ = strings.Cut(output[i+len("asks "):], "\n")
			}
			if (asked == "") != (c.asked == "") || !strings.Contains(asked, c.asked) {
				t.Errorf("asks %q, want %q\n%s", asked, c.asked, output)
			}
			if strings.ContainsAny(asked, "$;`(") {
				t.Errorf("a shell would read more than words in %q", asked)
			}
			if got := setting(output, "exclude"); got != c.excluded {
				t.Errorf("exclude = %q, want %q\n%s", got, c.excluded, output)
			}
		})
	}
}

// setting returns the value that the harness printed for a name.
func setting(output, name string) string {
	for line := range strings.Lines(output) {
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+"="); ok {
			return value
		}
	}
	return ""
}

func userSet(job []string, name, value string) bool {
	return slices.Contains(job, name+"="+value)
}

func wantNothingForbidden(t *testing.T, output string) {
	t.Helper()
	if strings.Contains(output, "FORBIDDEN") {
		t.Errorf("the script leaves the process:\n%s", output)
	}
	if strings.Contains(output, "log error") {
		t.Errorf("the script failed:\n%s", output)
	}
}
