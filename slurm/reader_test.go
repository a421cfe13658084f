package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers is a Runner that gives recorded answers, in order.
type answers struct {
	t     *testing.T
	given []answer
	asked [][]string
	// details are what scontrol says, by the last argument.
	details map[string]string
}

type answer struct {
	command string
	// output has @m@ and |m| for the marks of the call.
	output string
	err    error
}

func (a *answers) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	a.t.Helper()
	if name == "scontrol" {
		what := args[len(args)-1]
		if what != "config" && !slices.Contains(args, "-a") {
			a.t.Errorf("scontrol %q leaves out the %s of hidden partitions", args, what)
		}
		if what != "config" && !slices.Contains(args, "--local") {
			a.t.Errorf("scontrol %q shows the %s of other clusters of a federation", args, what)
		}
		return []byte(a.details[what]), nil
	}
	a.asked = append(a.asked, append([]string{name}, args...))
	if len(a.asked) > len(a.given) {
		a.t.Fatalf("asked once too often: %s %q", name, args)
	}
	if !slices.Contains(args, "--local") {
		a.t.Errorf("%s %q lists other clusters of a federation", name, args)
	}
	next := a.given[len(a.asked)-1]
	if next.command != name {
		a.t.Fatalf("asked %s, want %s", name, next.command)
	}
	return []byte(marked(next.output, args)), next.err
}

// marked puts the marks of a call into a recorded output.
func marked(output string, args []string) string {
	i := slices.Index(args, "-o")
	if i < 0 {
		return output
	}
	row, _, _ := strings.Cut(args[i+1][1:], "@")
	return strings.NewReplacer("@m@", "@"+row+"@", "|m|", "|"+row+"|").Replace(output)
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestReadDebian reads what a real cluster of 22.05.8 said, once as JSON and once
// as text: the same jobs and nodes, as far as the text tells.
func TestReadDebian(t *testing.T) {
	nodes := answer{command: "sinfo", output: fixture(t, "sinfo-22.05-debian.txt")}
	read := func(given ...answer) *Cluster {
		t.Helper()
		runner := &answers{t: t, given: append(given, nodes)}
		c, err := Reader{Runner: runner, Now: func() time.Time { return time.Unix(1, 0) }}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(runner.asked) != len(given)+1 {
			t.Fatalf("%d commands were run, want %d", len(runner.asked), len(given)+1)
		}
		return c
	}
	c := read(answer{command: "squeue", output: fixture(t, "squeue-22.05-debian.json")})
	if c.Version != "22.05.8" || c.Name != "bandmate" || len(c.Warnings) > 0 {
		t.Errorf("version %q, cluster %q, warnings %q", c.Version, c.Name, c.Warnings)
	}
	checkDebianJobs(t, c)
	if len(c.Nodes) != 3 || c.Nodes[0].Name != "n01" || !slices.Equal(c.Nodes[2].Partitions, []string{"excl", "odd", "pack", "share", "user"}) {
		t.Errorf("nodes %+v", c.Nodes)
	}
	if p, _ := c.Partition("share"); p.Shares() != 2 || !p.Forced() || c.DefaultPartition() != "pack" {
		t.Errorf("partition share %+v, default %q", p, c.DefaultPartition())
	}

	text := read(
		answer{command: "squeue", err: &CommandError{Name: "squeue", ExitCode: 1, Stderr: "squeue: unrecognized option '--json'"}},
		answer{command: "squeue", output: fixture(t, "squeue-22.05-debian.txt")},
	)
	ignored := cmp.FilterPath(func(p cmp.Path) bool {
		return slices.Contains([]string{".Allocations", ".Tasks", ".Started", ".Ends", ".Submitted", ".AdminComment", ".AdminCommentUntold", ".CPUsPerTask", ".Account", ".Memory"}, p.Last().String())
	}, cmp.Ignore())
	byID := func(a, b Job) int { return int(a.ID - b.ID) }
	slices.SortFunc(c.Jobs, byID)
	slices.SortFunc(text.Jobs, byID)
	if diff := cmp.Diff(c.Jobs, text.Jobs, ignored); diff != "" {
		t.Errorf("text differs from JSON: %s", diff)
	}
	if c.Jobs[0].AdminCommentUntold || !text.Jobs[0].AdminCommentUntold {
		t.Errorf("AdminComment untold: %v in JSON, %v in text", c.Jobs[0].AdminCommentUntold, text.Jobs[0].AdminCommentUntold)
	}
}

func checkDebianJobs(t *testing.T, c *Cluster) {
	t.Helper()
	find := func(name string) *Job {
		j, err := c.Job(name)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	one := find("1")
	if one.Comment != "bandmate=cg; rm -rf\nx|y" || one.Name != `na me"$(id)` || !one.Occupies() || one.CPUs != 1 || one.TimeLimit != time.Hour {
		t.Errorf("job 1: %+v", one)
	}
	if diff := cmp.Diff([]Allocation{{"n01", map[int][]int{0: {0}}}}, one.Allocations); diff != "" {
		t.Errorf("job 1: %s", diff)
	}
	task := find("2_0")
	if !task.Exclusive || !slices.Equal(task.Nodes, []string{"n02", "n03"}) || task.CPUs != 16 || len(task.Allocations) != 2 || task.ID != 8 {
		t.Errorf("task 2_0: %+v", task)
	}
	if rest := find("2"); !rest.Pending() || rest.PendingTasks == "" || rest.Task != nil {
		t.Errorf("array 2: %+v", rest)
	}
	if leader := find("3"); leader.String() != "3+0" || find("3+1").NodeCount != 2 {
		t.Errorf("heterogeneous job 3: %v", leader)
	}
	if held := find("5"); !held.Held() || !slices.Equal(held.Partitions, []string{"odd", "pack"}) || !slices.Equal(held.Excluded, []string{"n02"}) || held.TimeLimit != 10*time.Minute {
		t.Errorf("held job 5: %+v", held)
	}
	if dependent := find("6"); !dependent.Dependent() || !slices.Equal(dependent.Required, []string{"n03"}) {
		t.Errorf("dependent job 6: %+v", dependent)
	}
	if other := find("7"); other.User != "nobody" {
		t.Errorf("job 7 of another user: %+v", other)
	}
	if _, err := c.Job("99"); !errors.Is(err, ErrNoJob) {
		t.Errorf("job 99: %v", err)
	}
}

func TestSqueueV0_0_39(t *testing.T) {
	q, err := squeueJSON([]byte(fixture(t, "squeue-v0.0.39.json")))
	if err != nil {
		t.Fatal(err)
	}
	running, array := q.jobs[0], q.jobs[1]
	if q.version != "23.02.2" || q.cluster != "alps" || len(q.warnings) > 0 {
		t.Errorf("%q, %q, %q", q.version, q.cluster, q.warnings)
	}
	want := []Allocation{{"nid001", map[int][]int{0: {0, 1}, 1: {0}}}, {"nid002", map[int][]int{1: {3, 4, 5}}}}
	if diff := cmp.Diff(want, running.Allocations); diff != "" {
		t.Error(diff)
	}
	if running.TimeLimit != 0 || running.Exclusive || running.ArrayID != 0 || running.Task != nil || running.Started.Unix() != 1795149902 {
		t.Errorf("%+v", running)
	}
	if n := (&Node{Name: "nid001", ThreadsPerCore: 2}); running.CPUsOn(n) != 6 {
		t.Errorf("%v CPUs on nid001, want 3 cores of 2", running.CPUsOn(n))
	}
	if !array.Held() || array.String() != "4712_[0-99%5]" || array.CPUsPerNode() != 4 || array.TimeLimit != 90*time.Minute || !slices.Equal(array.Excluded, []string{"nid003", "nid004"}) {
		t.Errorf("%+v", array)
	}
}

func TestSqueueV0_0_41(t *testing.T) {
	q, err := squeueJSON([]byte(fixture(t, "squeue-v0.0.41.json")))
	if err != nil {
		t.Fatal(err)
	}
	task, ending := q.jobs[0], q.jobs[1]
	if q.version != "24.05.4" || q.cluster != "alps" || task.String() != "9000_7" || !task.Occupies() {
		t.Errorf("%q, %q, %+v", q.version, q.cluster, task)
	}
	if diff := cmp.Diff([]Allocation{{"nid003", map[int][]int{0: {1}, 1: {0, 3}}}}, task.Allocations); diff != "" {
		t.Error(diff)
	}
	if ending.Occupies() || !ending.Exclusive || ending.String() != "9009+1" || !slices.Contains(ending.Flags, Completing) {
		t.Errorf("%+v", ending)
	}
}

func TestSqueueV0_0_43(t *testing.T) {
	q, err := squeueJSON([]byte(fixture(t, "squeue-v0.0.43.json")))
	if err != nil {
		t.Fatal(err)
	}
	if known := q.jobs[0]; !known.Occupies() || known.Exclusive || !slices.Equal(known.Allocations[0].Cores[0], []int{5}) {
		t.Errorf("%+v", known)
	}
	if future := q.jobs[1]; !future.Occupies() || future.State != "TELEPORTING" {
		t.Errorf("%+v", future)
	}
	if len(q.warnings) != 1 || !strings.Contains(q.warnings[0], `job 13 is in state "TELEPORTING"`) {
		t.Errorf("warnings %q", q.warnings)
	}
}

// sinfo prints one number where a partition takes as many nodes at most as at least.
func TestMostNodesOfAPartition(t *testing.T) {
	whole := fixture(t, "sinfo-22.05-debian.txt")
	for size, want := range map[string][2]int{"1": {1, 1}, "1-1": {1, 1}, "2-7": {2, 7}, "1-infinite": {1, 0}} {
		text := &answers{t: t, given: []answer{{command: "sinfo", output: strings.ReplaceAll(whole, "|m|1-infinite|m|", "|m|"+size+"|m|")}}}
		v, err := Reader{Runner: text}.nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range v.partitions {
			if p.LeastNodes != want[0] || p.MostNodes != want[1] {
				t.Errorf("a size of %s: %s takes %d to %d nodes, want %d to %d", size, p.Name, p.LeastNodes, p.MostNodes, want[0], want[1])
			}
		}
	}
}

func TestSinfoJSON(t *testing.T) {
	v, err := sinfoJSON([]byte(fixture(t, "sinfo-22.05-debian.json")))
	if err != nil {
		t.Fatal(err)
	}
	text := &answers{t: t, given: []answer{{command: "sinfo", output: fixture(t, "sinfo-22.05-debian.txt")}}}
	c, err := Reader{Runner: text}.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sorted := func(nodes []Node) []Node {
		for i := range nodes {
			slices.Sort(nodes[i].Partitions)
		}
		return nodes
	}
	if diff := cmp.Diff(sorted(v.sorted()), sorted(c.sorted())); diff != "" {
		t.Errorf("JSON and text of the same nodes differ: %s", diff)
	}

	v, err = sinfoJSON([]byte(fixture(t, "sinfo-v0.0.39.json")))
	if err != nil {
		t.Fatal(err)
	}
	nodes := v.sorted()
	if !nodes[0].Available() || nodes[1].Available() || !slices.Equal(nodes[0].Features, []string{"fast", "bandmate-domain=pool"}) {
		t.Errorf("%+v", nodes)
	}

	v, err = sinfoJSON([]byte(fixture(t, "sinfo-v0.0.41.json")))
	if err != nil {
		t.Fatal(err)
	}
	nodes = v.sorted()
	if len(nodes) != 4 || nodes[1].Name != "nid004" || nodes[1].CPUs != 8 || nodes[1].Sockets != 2 || nodes[3].Available() || nodes[3].ThreadsPerCore != 2 {
		t.Errorf("%+v", nodes)
	}
	if diff := cmp.Diff([]Partition{{Name: "normal", OverSubscribe: "FORCE:2"}, {Name: "whole", OverSubscribe: "EXCLUSIVE"}}, v.partitions); diff != "" {
		t.Error(diff)
	}
}

func TestReadFaults(t *testing.T) {
	whole := fixture(t, "squeue-22.05-debian.json")
	refused := &CommandError{Name: "squeue", ExitCode: 1, Stderr: "squeue: error: slurm_load_jobs: Access/permission denied"}
	for _, test := range []struct {
		name  string
		given []answer
		want  string
	}{
		{"cut off", []answer{{command: "squeue", output: whole[:len(whole)/2]}}, "was the output cut off"},
		{"empty", []answer{{command: "squeue"}}, "its JSON cannot be read"},
		{"another program", []answer{{command: "squeue", output: "JOBID PARTITION"}}, "its JSON cannot be read"},
		{"an answer without jobs", []answer{{command: "squeue", output: `{"meta":{},"errors":[{"error_number":9,"error":"Invalid user","description":"slurm_load_jobs"}]}`}}, "Invalid user: slurm_load_jobs"},
		{"no jobs beside an error", []answer{{command: "squeue", output: `{"errors":[{"error":"Invalid user"}],"jobs":[]}`}}, "squeue: Invalid user"},
		{"no jobs, because slurmctld is down", []answer{{command: "squeue", output: `{"errors":[{"error":"Unable to contact slurm controller"}],"jobs":[]}`}}, ErrUnreachable.Error()},
		{"an array instead of an object", []answer{{command: "squeue", output: `[]`}}, "its JSON cannot be read"},
		{"no rights", []answer{{command: "squeue", err: refused}}, "permission denied"},
		{"slurmctld is down", []answer{{command: "squeue", err: ErrUnreachable}}, ErrUnreachable.Error()},
		{"too slow", []answer{{command: "squeue", err: ErrTimeout}}, ErrTimeout.Error()},
		{"sinfo cut off", []answer{
			{command: "squeue", output: whole}, {command: "sinfo", output: fixture(t, "sinfo-22.05-debian.txt")[:300]},
		}, "sinfo: row"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Reader{Runner: &answers{t: t, given: test.given}}.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want: %s", err, test.want)
			}
		})
	}
}

// TestHostileText checks that a job cannot print a row of its own, whatever its
// comment says.
func TestHostileText(t *testing.T) {
	f := newFields([]string{"A", "k"})
	row := func(id, comment string) string { return f.rowMark + id + f.fieldMark + comment + f.fieldMark + "\n" }
	guess := newFields(f.columns)
	hostile := "x\n" + guess.rowMark + "666" + guess.fieldMark + "forged" + guess.fieldMark + "\n|@ %A \x00\x1b[2J"
	rows, err := f.rows("squeue", []byte("CLUSTER: alps\n"+row("1", hostile)+row("2", "")))
	if err != nil || len(rows) != 2 || rows[0]["k"] != hostile || rows[1]["A"] != "2" {
		t.Errorf("%q, %v", rows, err)
	}
	if f.rowMark == guess.rowMark {
		t.Error("two calls with the same mark")
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		json string
		want number
	}{
		{`5`, number{5, true, false}},
		{`null`, number{}},
		{`"7"`, number{7, true, false}},
		{`5.0`, number{5, true, false}},
		{`{"set":true,"infinite":false,"number":5}`, number{5, true, false}},
		{`{"set":false,"infinite":false,"number":5}`, number{}},
		{`{"set":true,"infinite":true,"number":0}`, number{0, true, true}},
		{`{"set":false,"infinite":true,"number":0}`, number{0, true, true}},
		{`4294967294`, number{}},
		{`4294967295`, number{0, true, true}},
		{`18446744073709551615`, number{0, true, true}},
		{`18446744073709551614`, number{}},
		{`99999999999999999999999`, number{}},
		{`-1`, number{}},
		{`[1]`, number{}},
		{`{"number":[]}`, number{}},
		{`true`, number{}},
	} {
		var got number
		if err := got.UnmarshalJSON([]byte(test.json)); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.json, got, err, test.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1:00:00": time.Hour, "10:00": 10 * time.Minute, "2-01:00:00": 49 * time.Hour,
		"UNLIMITED": 0, "": 0, "-1:00": 0, "1:2:3:4": 0, "x-1:00:00": 0, "99999999-00:00:00": 9223372036 * time.Second,
	} {
		if got := duration(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzSqueueJSON(f *testing.F) {
	for _, name := range []string{"squeue-22.05-debian.json", "squeue-v0.0.39.json", "squeue-v0.0.41.json", "squeue-v0.0.43.json"} {
		f.Add([]byte(fixture(f, name)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := squeueJSON(data)
		if err != nil {
			return
		}
		for i := range q.jobs {
			checkJob(t, &q.jobs[i])
		}
	})
}

// checkJob checks what everybody relies upon.
func checkJob(t *testing.T, j *Job) {
	t.Helper()
	if j.ID <= 0 || j.CPUs < 0 || j.NodeCount < 0 || j.TimeLimit < 0 || !(j.CPUsPerNode() > 0) {
		t.Fatalf("%+v", j)
	}
	if j.Pending() && j.Occupies() {
		t.Fatalf("a pending job that occupies nodes: %+v", j)
	}
	if !j.matches(j.String()) {
		t.Fatalf("%s is not called that", j)
	}
}

func FuzzSinfoJSON(f *testing.F) {
	for _, name := range []string{"sinfo-22.05-debian.json", "sinfo-v0.0.39.json", "sinfo-v0.0.41.json"} {
		f.Add([]byte(fixture(f, name)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := sinfoJSON(data)
		if err != nil {
			return
		}
		for _, n := range v.sorted() {
			if n.Name == "" || n.CPUs < 0 || n.Sockets < 0 {
				t.Fatalf("%+v", n)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add(fixture(f, "squeue-22.05-debian.txt"), fixture(f, "sinfo-22.05-debian.txt"))
	f.Fuzz(func(t *testing.T, squeue, sinfo string) {
		jobs := fields{"@m@", "|m|", squeueColumns()}
		if q, err := squeueText(jobs, []byte(squeue)); err == nil {
			for i := range q.jobs {
				checkJob(t, &q.jobs[i])
			}
		}
		nodes := fields{"@m@", "|m|", sinfoColumns()}
		if v, err := sinfoText(nodes, []byte(sinfo)); err == nil {
			for _, n := range v.sorted() {
				if n.CPUs < 0 {
					t.Fatalf("%+v", n)
				}
			}
		}
	})
}

// Releases write in several ways that a job shares nodes only with those of its user.
func TestExclusiveUser(t *testing.T) {
	for _, said := range []string{`"shared":"user"`, `"shared":["user"]`, `"exclusive":["user"]`} {
		q, err := squeueJSON([]byte(`{"jobs":[{"job_id":1,"job_state":["PENDING"],` + said + `}]}`))
		if err != nil || !q.jobs[0].ExclusiveUser || q.jobs[0].Exclusive {
			t.Errorf("%s: %+v, %v", said, q.jobs, err)
		}
	}
	if j := textJob(map[string]string{"h": "USER "}, &queue{}); !j.ExclusiveUser || j.Exclusive {
		t.Errorf("text: %+v", j)
	}
}

// Text has sentences where JSON has names.
func TestHeld(t *testing.T) {
	for reason, want := range map[string]bool{
		"JobHeldUser": true, "JobHeldAdmin": true, "JobHoldMaxRequeue": true, "launch failed requeued held": true,
		"job requeued in held state": true, "Held by operator": true, "Resources": false, "ReqNodeNotAvail, UnavailableNodes:sheldon3": false, "": false, "Priority": false,
	} {
		j := Job{State: Pending, Reason: reason}
		if j.Held() != want || j.MayStart() == want {
			t.Errorf("%q: held %v, may start %v", reason, j.Held(), j.MayStart())
		}
	}
	if j := (Job{State: Running, Reason: "JobHeldUser"}); j.Held() {
		t.Error("a running job is held")
	}
}

// excluding is the JSON of jobs that exclude every other of 2,500 nodes.
func excluding(jobs int) []byte {
	var list, text strings.Builder
	for i := range 1250 {
		fmt.Fprintf(&list, "%d,", 2*i+1)
	}
	nodes := "n[" + strings.TrimSuffix(list.String(), ",") + "]"
	for i := range jobs {
		fmt.Fprintf(&text, `,{"job_id":%d,"job_state":["PENDING"],"excluded_nodes":"%s"}`, i+1, nodes)
	}
	return []byte(`{"jobs":[` + text.String()[1:] + `]}`)
}

func TestJobsShareEqualLists(t *testing.T) {
	q, err := squeueJSON(excluding(2))
	if err != nil {
		t.Fatal(err)
	}
	first, second := q.jobs[0].Excluded, q.jobs[1].Excluded
	if len(first) != 1250 || &first[0] != &second[0] {
		t.Fatalf("%d nodes, want 1250 that both jobs share", len(first))
	}
	if longer, other := append(first, "a"), append(second, "b"); longer[1250] != "a" || other[1250] != "b" {
		t.Errorf("what was appended to one list is in the other: %q, %q", longer[1250], other[1250])
	}
}

// BenchmarkQueue reads 1,000 jobs with long lists, and reports what stays in memory of
// each.
func BenchmarkQueue(b *testing.B) {
	const jobs = 1000
	data := excluding(jobs)
	b.ReportAllocs()
	var kept uint64
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		q, err := squeueJSON(data)
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept = after.HeapAlloc - before.HeapAlloc
		runtime.KeepAlive(q.jobs)
	}
	b.ReportMetric(float64(kept)/jobs, "kept-B/job")
}
