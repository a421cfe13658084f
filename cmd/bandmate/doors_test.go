package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/advise"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cluster"
	"bandmate.dev/bandmate/cmd/bandmate/internal/demo"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/report/page"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/store/cluster/clustertest"
	"bandmate.dev/bandmate/units"
)

// The machines of the doors' store. doorFitted has profiles to spare for a model of its
// memory, doorFew as many as one takes, and of doorBare only the machine is known: every
// profile there is one of another machine, and predicted from its curves alone.
const (
	doorFitted = "ddr3x4"
	doorFew    = "ddr4x2"
	doorBare   = "unmeasured"
)

// doorProfiles says when which application was measured on which machine.
// strtriad and graph0 have two profiles each. By name doorFitted comes first; of
// strtriad the latest profile is that of doorFew.
var doorProfiles = map[string]map[string]string{
	doorFitted: {
		"strtriad": "2026-01-01T00:00:00Z", "graph0": "2026-03-01T00:00:00Z", "spmv1": "2026-01-01T00:00:00Z",
		"sort0": "2026-01-01T00:00:00Z", "fft1": "2026-01-01T00:00:00Z", "db0": "2026-01-01T00:00:00Z",
	},
	doorFew: {"strtriad": "2026-02-01T00:00:00Z", "graph0": "2026-01-01T00:00:00Z", "io0": "2026-01-01T00:00:00Z"},
}

// doorPhases are of the applications whose traffic changes over a run.
var doorPhases = map[string][]v1alpha1.Phase{
	"fft1": {{TimeShare: 0.3, ReadBytesPerSecond: 2e9, WriteBytesPerSecond: 1e9}, {TimeShare: 0.7, ReadBytesPerSecond: 12e9, WriteBytesPerSecond: 3e9}},
}

// communicating applications exchange data over the network of doorFitted.
var communicating = []string{"sort0", "db0"}

// A doorQuestion asks for a target beside co-runners on a machine.
type doorQuestion struct {
	Machine   string   `json:"machine"`
	Target    string   `json:"target"`
	Corunners []string `json:"corunners"`
}

var doorQuestions = []doorQuestion{
	{doorFitted, "strtriad", []string{"spmv1"}},
	{doorFitted, "spmv1", []string{"strtriad"}},
	{doorFitted, "fft1", []string{"fft1"}},
	{doorFitted, "graph0", []string{"spmv1", "strtriad"}},
	{doorFitted, "spmv1", []string{"graph0", "fft1", "fft1"}},
	{doorFitted, "sort0", []string{"db0"}},
	{doorFitted, "sort0", []string{"db0", "strtriad"}},
	{doorFitted, "io0", []string{"spmv1"}}, // transferred beside calibrated
	{doorFitted, "spmv1", []string{"io0", "graph0"}},
	{doorFew, "strtriad", []string{"graph0"}},
	{doorFew, "graph0", []string{"io0", "strtriad"}},
	{doorFew, "fft1", []string{"strtriad"}},
	{doorBare, "strtriad", []string{"graph0"}},
	{doorBare, "graph0", []string{"strtriad", "spmv1"}},
	{doorBare, "fft1", []string{"io0"}},
}

// A doorAnswer is one row of the table that all doors give.
type doorAnswer struct {
	doorQuestion

	Slowdown  float64            `json:"slowdown"`
	Low       float64            `json:"low"`
	High      float64            `json:"high"`
	Basis     string             `json:"basis"`
	Neighbors map[string]float64 `json:"neighbors"`
}

// TestDoors asks every way to a prediction about one store: predict, matrix, pair,
// the server, the report, Slurm, Kubernetes, its scheduler and the demo give the same
// numbers.
func TestDoors(t *testing.T) {
	t.Parallel() // computes only
	d := newDoors(t)
	var table []doorAnswer
	for _, q := range doorQuestions {
		table = append(table, d.predict(q))
	}
	t.Run("golden", func(t *testing.T) { wantDoorTable(t, table) })
	l := startServe(t, "--store", d.store)
	t.Run("server", func(t *testing.T) {
		for _, want := range table {
			want.compare(t, "server", askServer(t, l, want.doorQuestion))
		}
	})
	for _, machine := range []string{doorFitted, doorFew, doorBare} {
		t.Run("matrix "+machine, func(t *testing.T) { d.wantMatrix(t, l, machine) })
	}
	t.Run("slurm", func(t *testing.T) { d.wantSlurm(t, table) })
	t.Run("kubernetes", func(t *testing.T) { d.wantKubernetes(t, table) })
	t.Run("scheduler", func(t *testing.T) { d.wantScheduler(t, l, table) })
	t.Run("demo", func(t *testing.T) { d.wantDemo(t, table) })
}

// doors is the store, as a folder and as objects.
type doors struct {
	t            *testing.T
	store        string
	machines     map[string]*v1alpha1.MachineProfile
	applications []*v1alpha1.ApplicationProfile
}

func newDoors(t *testing.T) *doors {
	d := &doors{t: t, store: t.TempDir(), machines: map[string]*v1alpha1.MachineProfile{}}
	for machine, sustained := range map[string]float64{doorFitted: 42e9, doorFew: 31e9, doorBare: 25e9} {
		m := &v1alpha1.MachineProfile{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindMachineProfile},
			ObjectMeta: metav1.ObjectMeta{Name: machine},
		}
		m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = 1, 1, 8
		for _, share := range []float64{0.5, 0.75, 1} {
			m.Spec.Sustained = append(m.Spec.Sustained, v1alpha1.SustainedBandwidth{ReadShare: share, BytesPerSecond: sustained * (0.9 + share/10), Repeats: 1})
		}
		if machine == doorFitted {
			m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.Link = 2, 2, v1alpha1.LinkOwn
			m.Spec.Network = &v1alpha1.Network{Model: "gigabit-ethernet", BytesPerSecond: 1e9, Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0)}
		}
		d.machines[machine] = m
		d.put("machines/"+machine+".yaml", m)
	}
	for machine, times := range doorProfiles {
		dataset, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/" + machine))
		if err != nil {
			t.Fatal(err)
		}
		for i := range dataset.Apps {
			a := &dataset.Apps[i]
			at, ok := times[a.Name]
			if !ok {
				continue
			}
			// Few points, so that every command fits the model of the memory quickly.
			p := a.Profile(evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.25, 0.5, 0.75, 1}})
			p.Spec.Contentiousness.Timeline = nil
			p.Spec.Phases = doorPhases[a.Name]
			p.Spec.Machine.Name = machine
			measured, err := time.Parse(time.RFC3339, at)
			if err != nil {
				t.Fatal(err)
			}
			p.Spec.Measurement.Time = metav1.NewTime(measured)
			if machine == doorFitted && slices.Contains(communicating, a.Name) {
				p.Spec.Communication = &v1alpha1.Communication{
					Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(5e8), ReceivedBytesPerSecond: new(0.0), Overlapped: new(a.Name == "db0"),
				}
			}
			p = p.Rounded() // as a store writes it
			d.applications = append(d.applications, p)
			d.put("applications/"+a.Name+"@"+machine+".yaml", p)
		}
	}
	return d
}

func (d *doors) put(path string, object any) {
	d.t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		d.t.Fatal(err)
	}
	processtest.WriteFile(d.t, filepath.Join(d.store, path), string(text))
}

// ask runs a command and decodes what it prints.
func (d *doors) ask(t *testing.T, into any, args ...string) {
	t.Helper()
	p := processtest.Bandmate(t, append(args, "-o", "json", "--store", d.store)...)
	p.WantExit(0)
	if err := json.Unmarshal([]byte(p.Stdout.String()), into); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
}

func (d *doors) predict(q doorQuestion) doorAnswer {
	d.t.Helper()
	var p predictor.Prediction
	d.ask(d.t, &p, append([]string{"predict", "--machine", q.Machine, q.Target}, q.Corunners...)...)
	return answerOf(q, p)
}

func answerOf(q doorQuestion, p predictor.Prediction) doorAnswer {
	a := doorAnswer{
		doorQuestion: q, Slowdown: float64(p.Slowdown), Low: float64(p.Interval.Low), High: float64(p.Interval.High),
		Basis: string(p.Basis), Neighbors: map[string]float64{},
	}
	for name, s := range p.CorunnerSlowdowns {
		a.Neighbors[name] = float64(s)
	}
	return a
}

// wantDoorTable compares with the committed numbers. These are rounded: what they
// hold is that predictions stay, not the last bit of this machine's arithmetic.
func wantDoorTable(t *testing.T, table []doorAnswer) {
	rounded := func(v float64) float64 { return math.Round(v*1e6) / 1e6 }
	var text strings.Builder
	for _, a := range table {
		a.Slowdown, a.Low, a.High = rounded(a.Slowdown), rounded(a.Low), rounded(a.High)
		neighbors := map[string]float64{}
		for name, s := range a.Neighbors {
			neighbors[name] = rounded(s)
		}
		a.Neighbors = neighbors
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	golden.Want(t, "testdata/doors.golden.jsonl", []byte(text.String()))
}

// same compares two numbers that come from the same formulas.
func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	sameWithin(t, what, got, want, 1e-9)
}

// scoreAccuracy is how exactly a score gives the slowdowns of a group: it takes the
// residents in the order in which they are there, on which an iteration that ends
// when its steps are small depends.
const scoreAccuracy = 1e-4

func sameScore(t *testing.T, what string, got, want float64) {
	t.Helper()
	sameWithin(t, what, got, want, scoreAccuracy)
}

func sameWithin(t *testing.T, what string, got, want, accuracy float64) {
	t.Helper()
	if !(math.Abs(got-want) <= accuracy*math.Abs(want)) {
		t.Errorf("%s: %.12g, predict says %.12g", what, got, want)
	}
}

func (a doorAnswer) compare(t *testing.T, door string, b doorAnswer) {
	t.Helper()
	what := fmt.Sprintf("%s: %s beside %v on %s", door, a.Target, a.Corunners, a.Machine)
	same(t, what, b.Slowdown, a.Slowdown)
	same(t, what+", low", b.Low, a.Low)
	same(t, what+", high", b.High, a.High)
	for name, s := range a.Neighbors {
		same(t, what+", "+name, b.Neighbors[name], s)
	}
	if a.Basis != b.Basis || len(a.Neighbors) != len(b.Neighbors) {
		t.Errorf("%s: %s with %d neighbors, predict says %s with %d", what, b.Basis, len(b.Neighbors), a.Basis, len(a.Neighbors))
	}
}

func askServer(t *testing.T, l live, q doorQuestion) doorAnswer {
	t.Helper()
	values := url.Values{"machine": {q.Machine}, "target": {q.Target}, "corunner": q.Corunners}
	status, body := l.ask("api/v1/predict?" + values.Encode())
	var p predictor.Prediction
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != 200 {
		t.Fatalf("%v: %d, %v: %s", q, status, err, body)
	}
	return answerOf(q, p)
}

// wantMatrix holds matrix, pair, the server's matrix and the report to predict, for
// all applications that can stand on a machine.
func (d *doors) wantMatrix(t *testing.T, l live, machine string) {
	names := []string{"graph0", "strtriad", "spmv1", "io0", "db0", "sort0"}
	slowdown := map[[2]string]float64{}
	for _, target := range names {
		for _, corunner := range names {
			slowdown[[2]string{target, corunner}] = askServer(t, l, doorQuestion{machine, target, []string{corunner}}).Slowdown
		}
	}
	cell := func(door, target, corunner string, got float64) {
		t.Helper()
		same(t, fmt.Sprintf("%s: %s beside %s on %s", door, target, corunner, machine), got, slowdown[[2]string{target, corunner}])
	}
	flags := append([]string{"--machine", machine}, names...)

	var matrix advise.MatrixResult
	d.ask(t, &matrix, append([]string{"matrix"}, flags...)...)
	for i, target := range matrix.Applications {
		for j, corunner := range matrix.Applications {
			cell("matrix", target, corunner, matrix.Slowdowns[i][j])
		}
	}
	var pairs advise.PairResult
	d.ask(t, &pairs, append([]string{"pair"}, flags...)...)
	var total float64
	for _, p := range pairs.Pairs {
		cell("pair", p.Applications[0], p.Applications[1], p.Slowdowns[0])
		cell("pair", p.Applications[1], p.Applications[0], p.Slowdowns[1])
		total += p.Slowdowns[0] + p.Slowdowns[1]
	}
	var data page.Data
	d.ask(t, &data, append([]string{"report"}, flags...)...)
	same(t, "report: the best pairing", data.Pairing.Total, total)
	for i, a := range data.Applications {
		for j, pair := range data.Pairs[i] {
			cell("report", a.Name, data.Applications[j].Name, pair[0])
		}
		var suffers, causes float64
		for _, other := range names {
			if other != a.Name {
				suffers += slowdown[[2]string{a.Name, other}] / float64(len(names)-1)
				causes += slowdown[[2]string{other, a.Name}] / float64(len(names)-1)
			}
		}
		same(t, "report: "+a.Name+" suffers", *a.Suffers, suffers)
		same(t, "report: "+a.Name+" causes", *a.Causes, causes)
	}
	status, body := l.ask("api/v1/matrix?" + url.Values{"machine": {machine}, "application": names}.Encode())
	var sent struct {
		Targets, Corunners []string
		Slowdowns          [][]*float64
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, body)
	}
	for i, target := range sent.Targets {
		for j, corunner := range sent.Corunners {
			cell("server's matrix", target, corunner, *sent.Slowdowns[i][j])
		}
	}
}

// node returns the name of a node that has the co-runners of a question.
func node(i int) string { return fmt.Sprintf("node-%d", i) }

// wantSlurm has a node for every question, with the co-runners as jobs.
func (d *doors) wantSlurm(t *testing.T, table []doorAnswer) {
	type object = map[string]any
	var nodes, jobs []object
	for i, a := range table {
		nodes = append(nodes, object{
			"name": node(i), "cpus": 8, "alloc_cpus": len(a.Corunners), "state": "mixed",
			"features": "bandmate-machine=" + a.Machine, "partitions": []string{"all"},
		})
		for j, name := range a.Corunners {
			jobs = append(jobs, object{
				"job_id": 100*i + j + 1, "name": "a", "comment": "bandmate=" + name, "job_state": "RUNNING",
				"nodes": node(i), "cpus": 1, "node_count": 1, "partition": "all",
			})
		}
	}
	files := map[string]string{}
	for name, list := range map[string]object{"sinfo": {"nodes": nodes}, "squeue": {"jobs": jobs}} {
		list["meta"], list["errors"] = object{"Slurm": object{"release": "22.05.8"}}, []object{}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = filepath.Join(t.TempDir(), name+".json")
		processtest.WriteFile(t, files[name], string(text))
	}
	advised := map[string]struct{ Advice *slurm.Advice }{}
	for i, want := range table {
		document, ok := advised[want.Target]
		if !ok {
			d.ask(t, &document, "slurm", "advise", "--application", want.Target, "--squeue", files["squeue"], "--sinfo", files["sinfo"])
			advised[want.Target] = document
		}
		at := slices.IndexFunc(document.Advice.Candidates, func(c slurm.Candidate) bool { return c.Node == node(i) })
		c := document.Advice.Candidates[at]
		what := fmt.Sprintf("slurm: %s beside %v on %s", want.Target, want.Corunners, want.Machine)
		sameScore(t, what, float64(c.Slowdown), want.Slowdown)
		for _, r := range c.Residents {
			sameScore(t, what+", "+r.Application, float64(r.After), want.Neighbors[r.Application])
		}
	}
}

// wantKubernetes has a node for every question, with the co-runners as pods, and a
// waiting pod for every target.
func (d *doors) wantKubernetes(t *testing.T, table []doorAnswer) {
	server := clustertest.New(t, clustertest.Applications, clustertest.Machines, clustertest.Nodes, clustertest.Pods, clustertest.Events)
	add := func(collection, format string, args ...any) {
		t.Helper()
		if err := server.Add(collection, fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(into any, args ...string) {
		t.Helper()
		d.ask(t, into, append(args, "--kubeconfig", server.Kubeconfig)...)
	}
	for i, a := range table {
		add(clustertest.Nodes, "{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {bandmate.dev/machine: %s}}}", node(i), a.Machine)
		for j, name := range a.Corunners {
			add(clustertest.Pods, "{apiVersion: v1, kind: Pod, metadata: {name: p%d-%d, namespace: shop, uid: u%d-%d, labels: {bandmate.dev/application: %s}}, spec: {nodeName: %s, containers: [{name: c}]}}", i, j, i, j, name, node(i))
		}
	}
	ask(new([]any), "apply")
	known := map[string][2][]cluster.Verdict{}
	for i, want := range table {
		nodes, ok := known[want.Target]
		if !ok {
			add(clustertest.Pods, "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop, uid: %s, labels: {bandmate.dev/application: %s}}, spec: {containers: [{name: c}]}}", want.Target, want.Target, want.Target)
			var asked cluster.WhatIfAnswer
			ask(&asked, "what-if", want.Target, "--top", "0")
			var explained cluster.PodExplanation
			ask(&explained, "explain", want.Target, "-n", "shop", "--top", "0")
			nodes = [2][]cluster.Verdict{asked.Nodes, explained.Nodes}
			known[want.Target] = nodes
		}
		for door, verdicts := range nodes {
			at := slices.IndexFunc(verdicts, func(v cluster.Verdict) bool { return v.Node == node(i) })
			v := verdicts[at]
			what := fmt.Sprintf("%s: %s beside %v on %s", []string{"what-if", "explain"}[door], want.Target, want.Corunners, want.Machine)
			sameScore(t, what, v.Slowdown, want.Slowdown)
			for _, r := range v.Residents {
				sameScore(t, what+", "+r.Application, r.After, want.Neighbors[r.Application])
			}
		}
	}
}

// wantDemo has the demo predict pairs of the applications of a machine, as if it had
// measured them.
func (d *doors) wantDemo(t *testing.T, table []doorAnswer) {
	for machine := range doorProfiles {
		v := &onboard.Tried{Machine: d.machines[machine]}
		var wanted []doorAnswer
		for _, p := range d.applications {
			if p.Spec.Machine.Name == machine {
				v.Profiles = append(v.Profiles, p)
			}
		}
		for _, a := range table {
			own := doorProfiles[machine]
			if a.Machine == machine && len(a.Corunners) == 1 && own[a.Target] != "" && own[a.Corunners[0]] != "" {
				v.Pairs = append(v.Pairs, onboard.Pair{Target: a.Target, Corunner: a.Corunners[0], Result: sampling.Result{Repeats: 20, StandardError: 0.001}})
				wanted = append(wanted, a)
			}
		}
		noisy := v.Pairs[0]
		noisy.StandardError = 0.2
		rare := v.Pairs[0]
		rare.Repeats = 2
		v.Pairs = append(v.Pairs, noisy, rare)
		result, err := demo.NewResult(v)
		if err != nil {
			t.Fatal(err)
		}
		pair := noisy.Target + " beside " + noisy.Corunner
		if len(result.Pairs) != len(wanted) || strings.Count(fmt.Sprint(result.Warnings), pair) != 2 {
			t.Errorf("%d pairs, want %d without the noisy ones: %q", len(result.Pairs), len(wanted), result.Warnings)
		}
		// Where most are noisy, that one seems precise is chance.
		v.Pairs = []onboard.Pair{noisy, noisy, v.Pairs[0]}
		if none, err := demo.NewResult(v); err != nil || len(none.Pairs) > 0 || none.MeanAbsErrorPoints != nil || none.MaxAbsErrorPoints != nil {
			t.Errorf("from noisy pairs: %+v, %v", none, err)
		}
		for i, want := range wanted {
			got := result.Pairs[i]
			what := fmt.Sprintf("demo: %s beside %v on %s", want.Target, want.Corunners, want.Machine)
			same(t, what, 1/got.Predicted, want.Slowdown)
			same(t, what+", low", got.Interval[0], want.Low)
			same(t, what+", high", got.Interval[1], want.High)
		}
	}
}
