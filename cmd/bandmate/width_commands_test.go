package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm/watch"
	"bandmate.dev/bandmate/store/cluster/clustertest"
	"bandmate.dev/bandmate/units"
)

// printedLines are command lines that need a store of applications, or nothing.
var printedLines = []string{
	"profiles list", "profiles show lu-decomposition", "matrix", "matrix xz sqlite",
	"predict lu-decomposition stream-triad", "predict xz sqlite lammps --explain",
	"pair postgres-15 lammps xz sqlite stream-triad graph500-bfs lu-decomposition",
	"config", "config --all", "doctor",
	"evaluate ../../docs/results/real --method default,memgen",
	"capability tree --machine knl-7210-quadrant --operation broadcast --threads 64", "capability barrier --machine knl-7210-quadrant --threads 64",
	"capability sort --machine knl-7210-quadrant --size 1GiB --threads 64",
	"overlap fit ../../docs/example/sweep.csv",
	"overlap time --computation 1ms --communication 0.5ms --computation-loss 1.72 --communication-loss 2.2",
	"overlap split --computation 6ms --accelerator 1.2ms --communication 0.5ms --computation-loss 1.72 --communication-loss 2.2",
	"network penalty --model gigabit-ethernet a:0-1 b:0-2 c:0-3 d:4-2 e:4-3 f:5-3",
	"network fit ../../docs/example/conflicts.csv", "network simulate ../../docs/example/exchange.yaml",
	"machine network --name here --rate 117MB/s", "sample floating-point --scale 0.01",
	"slurm advise --application xz -p all --squeue testdata/width/squeue.json --sinfo testdata/width/sinfo.json",
	"measure --from testdata/width/perf.csv",
}

// notShown are the commands whose text is in none of these tests, and why.
var notShown = map[string]string{
	"agent":                    "logs; what it prints at its end is in TestWrittenFits",
	"capability measure":       "measures for minutes: see TestWrittenFits",
	"capability race":          "measures for minutes: see TestWrittenFits",
	"demo":                     "measures for a minute: see TestWrittenFits",
	"interfere":                "measures: see TestWrittenFits",
	"machine":                  "measures: see TestWrittenFits",
	"network measure":          "needs root: see TestWrittenFits",
	"onboard":                  "measures; prints what profiles show does",
	"overlap measure":          "measures: see TestWrittenFits",
	"overlap bandwidth":        "needs a file of overlap fit: see TestOverlapBandwidthFits",
	"apply":                    "needs a cluster: see TestClusterFits",
	"explain":                  "needs a cluster: see TestClusterFits",
	"what-if":                  "needs a cluster: see TestClusterFits",
	"profiles delete":          "says what is wrong at most: see TestLongNamesFit",
	"profiles export":          "YAML",
	"profiles import":          "names on standard error, which are folded as all of that is",
	"profiles contentiousness": "prints what measure --from does",
	"report":                   "writes a file",
	"serve":                    "prints an address",
	"slurm onboard":            "prints a command line, one word a line",
	"slurm submit":             "prints a command line, one word a line",
	"slurm pair":               "needs Slurm; its lines are commands, and comments: see TestWrittenFits",
	"slurm watch":              "writes a log",
	"slurm watch status":       "needs a watch: see TestWrittenFits",
}

// Every command is in a test that what it prints fits, or is known not to be.
func TestEveryCommandFits(t *testing.T) {
	shown := map[string]bool{}
	for _, line := range printedLines {
		cmd, err := parses(strings.Fields(line))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		shown[strings.TrimPrefix(cmd.CommandPath(), "bandmate ")] = true
	}
	walk(testRoot(), func(cmd *cobra.Command) {
		if !cmd.Runnable() || cmd.Hidden || cmd.Parent() == nil || builtIn(cmd) || cmd.HasSubCommands() && cmd.Name() != "machine" && cmd.Name() != "watch" {
			return
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "bandmate ")
		if reason := notShown[path]; shown[path] == (reason != "") {
			t.Errorf("%s: in printedLines %t, in notShown %q: want one of them", path, shown[path], reason)
		}
	})
}

// What commands print that measure, or need what tests do not have.
func TestWrittenFits(t *testing.T) {
	long := strings.Repeat("processor-with-a-long-name ", 5) + strings.Repeat("n", 100)
	within, share := 0.123, units.ReadShare(0.75)
	a := &app{stdout: io.Discard, stderr: io.Discard, env: func(string) string { return "" }}
	o := report.Options{Unicode: true}
	most := float64(987_654_321_000)
	bandwidth := units.Bandwidth(most)
	cost := 123_456.7
	for name, write := range map[string]func(w io.Writer) error{
		"overlap measure": func(w io.Writer) error {
			return writeSweep(w, sweepResult{
				Computing: []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}, PartsPerCore: 8, MessageBytes: 1 << 30, Regime: "same-complex",
				Points: []sweepPoint{{
					ComputationNode: 15, CommunicationNode: 15, Cores: 128, ComputationAlone: bandwidth, Computation: bandwidth, CommunicationAlone: bandwidth,
					Communication: bandwidth, ComputationAloneSpread: &within, ComputationSpread: &within, CommunicationAloneSpread: &within, CommunicationSpread: &within,
				}},
				Loss: []sweepLosses{{ComputationNode: 15, CommunicationNode: 15, Computation: 12.345, Communication: 12.345}},
			}, o)
		},
		"network measure": func(w io.Writer) error {
			return writeConflicts(w, conflictResult{Rate: bandwidth, Bytes: 1 << 30, AloneSeconds: 1.5, Communications: []measuredCommunication{
				{Conflict: long, Communication: long, From: 99_999, To: 99_999, Penalty: 1234.567, Spread: &within},
			}}, o)
		},
		"capability measure": func(w io.Writer) error { return writeMeasured(w, widestCapability(long, most, cost, within), o) },
		"capability race": func(w io.Writer) error {
			return writeRace(w, raceResult{
				machineSource: machineSource{long, long}, Operation: "broadcast", Threads: 4096, CPUs: []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
				Results: []raceRow{{Name: long, Modeled: &cost, Nanoseconds: cost, RelativeInterval: within, Repeats: 100_000}},
			}, o)
		},
		"demo": func(w io.Writer) error {
			return a.writeDemo(w, demoResult{
				Machine:      demoMachine{CPUModel: long, CPUs: 1024, Regime: "different-complexes", RoundTripNanoseconds: 1234, SharedLastLevelCache: new(true)},
				Applications: []demoApplication{{Name: long, SoloSeconds: 1234.5, ReadBytesPerSecond: most, WriteBytesPerSecond: most, ReadShare: &share, RelativeUncertainty: &within}},
				Pairs:        []demoPair{{Target: long, Corunner: long, Predicted: 0.01, Measured: 0.01, ErrorPoints: 99.9, interval: [2]float64{1, 100}}},
			})
		},
		"doctor --verify": func(w io.Writer) error {
			traffic := verifyTraffic{BytesPerSecond: bandwidth, ReadShare: &share}
			return a.writeVerification(w, verifyResult{
				Source: "nvidia-scf", Diagnosis: doctor.Diagnosis{Cause: "bytes-per-count", Detail: long, Remedy: long},
				Checks: []verifyCheck{{Asked: traffic, Made: traffic, Counted: traffic, TrafficError: -0.9999, ReadShareError: new(-0.9999)}},
			})
		},
		"machine": func(w io.Writer) error {
			p := &v1alpha1.MachineProfile{}
			p.Name, p.Spec.CPUModel, p.Spec.CPUs, p.Spec.VirtualMachine = long, long, 1024, true
			p.Spec.Sustained = []v1alpha1.SustainedBandwidth{{ReadShare: 0.75, BytesPerSecond: most, RelativeSpread: &within, Repeats: 100}}
			return a.writeMachine(w, p)
		},
		"interfere": func(w io.Writer) error {
			return writeInterfere(w, interferer.Setting{Bandwidth: bandwidth, ReadShare: share}, interferer.Achieved{Elapsed: time.Hour})
		},
		"measure": func(w io.Writer) error {
			return writeSummary(w, profiler.Summary{
				Source: "nvidia-scf", Seconds: 12345, Traffic: units.Traffic{Read: units.Bandwidth(most), Write: units.Bandwidth(most)}, RelativeUncertainty: &within,
				Activity: &profiler.Activity{CPUSeconds: &most, Instructions: &most, InstructionsUserOnly: true, ContextSwitches: &most, OtherCPUSeconds: &most},
			}, "processes of /sys/fs/cgroup/"+long)
		},
		"agent": func(w io.Writer) error {
			return a.writeAgent(w, agentStatus{Node: long, Machine: long, MemoryDomain: long, Source: "imc"})
		},
		"slurm watch status": func(w io.Writer) error {
			return statusText(watch.Status{Running: true, Process: math.MaxInt32, Mode: watch.Mode(long), Cluster: long, Error: long, FailedRounds: 9})(w)
		},
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.Len() == 0 {
			t.Errorf("%s prints nothing", name)
		}
		wantFits(t, name, report.Fold(b.String(), o))
		// Tables fit without being broken.
		for line := range strings.SplitSeq(b.String(), "\n") {
			if strings.Count(line, "  ") > 2 && report.Widest(line) > 80 {
				t.Errorf("%s: a row of %d columns: %s", name, report.Widest(line), line)
			}
		}
	}
}

// widestCapability has every table of capability measure, with long numbers.
func widestCapability(long string, most, cost, within float64) measureResult {
	node := 15
	return measureResult{Machine: long, Capability: v1alpha1.Capability{
		Latencies: []v1alpha1.LineLatency{{
			Place: "memory", State: "modified", MemoryNode: &node, Nanoseconds: cost, LowNanoseconds: &cost, HighNanoseconds: &cost, RelativeInterval: &within, Repeats: 100_000,
		}},
		LatenciesBySize:  []v1alpha1.SizeLatency{{Bytes: 1 << 39, Nanoseconds: cost, RelativeInterval: &within, Repeats: 100_000}},
		ContentionPoints: []v1alpha1.ContentionPoint{{Threads: 1024, Nanoseconds: cost, RelativeInterval: &within, Repeats: 100_000}},
		Contention:       &v1alpha1.ContentionCost{BaseNanoseconds: cost, BaseIntervalNanoseconds: &cost, PerThreadNanoseconds: cost, PerThreadIntervalNanoseconds: &cost},
		Transfers: []v1alpha1.LinesTransfer{{
			Place: "other complex", State: "modified", Access: "copy", BaseNanoseconds: cost, BaseIntervalNanoseconds: &cost, PerLineNanoseconds: cost,
			PerLineIntervalNanoseconds: &cost, Points: []v1alpha1.TransferPoint{{Lines: 1}, {Lines: 1 << 20}},
		}},
		Bandwidths: []v1alpha1.AccessBandwidth{{
			Access: "triad", NonTemporal: true, Threads: 1024, CPUNode: &node, MemoryNode: &node, BytesPerSecond: most, RelativeInterval: &within, Repeats: 100_000,
		}},
		LoadedLatencies: []v1alpha1.LoadedLatency{{
			StreamingThreads: 1024, ReadShare: 0.755, Level: 0.755, BytesPerSecond: most, Nanoseconds: cost, RelativeInterval: &within, Repeats: 100_000,
		}},
	}}
}

// What is asked of a cluster fits, long names of nodes, pods and applications included.
func TestClusterFits(t *testing.T) {
	for _, suffix := range []string{"", longSuffix} {
		server := clustertest.New(t, clustertest.Applications, clustertest.Machines, clustertest.Nodes, clustertest.Pods, clustertest.Events)
		application := "xz" + suffix
		label := application[:min(len(application), 63)]
		folder := t.TempDir()
		file := filepath.Join(folder, "xz.yaml")
		if err := os.WriteFile(file, []byte(profileOf(label)), 0o600); err != nil {
			t.Fatal(err)
		}
		node, pod := "node-1"+suffix, "web-0"+suffix
		for collection, text := range map[string]string{
			clustertest.Nodes: "apiVersion: v1\nkind: Node\nmetadata: {name: " + node + ", labels: {bandmate.dev/machine: here}}\n",
			clustertest.Pods: "apiVersion: v1\nkind: Pod\nmetadata: {name: " + pod + ", namespace: shop, labels: {bandmate.dev/application: " + label + "}}\n" +
				"spec: {nodeName: " + node + ", containers: [{name: a, resources: {requests: {cpu: 2}}}]}\nstatus: {phase: Running}\n",
		} {
			if err := server.Add(collection, text); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range []string{
			"apply " + file, "what-if " + label, "what-if " + label + " --node " + node, "explain " + pod + " -n shop", "profiles list --cluster",
			"what-if nobody" + suffix,
		} {
			text := printedOn(t, 80, strings.Fields(line), "TERM=xterm-256color", "KUBECONFIG="+server.Kubeconfig)
			if text == "" {
				t.Errorf("%s prints nothing", line)
			}
			wantFits(t, line, escapes.ReplaceAllString(text, ""))
		}
	}
}

func TestOverlapBandwidthFits(t *testing.T) {
	parameters := filepath.Join(t.TempDir(), "p.yaml")
	p := bandmate(t, "overlap", "fit", "../../docs/example/sweep.csv", "-o", "yaml")
	p.wantExit(0)
	writeFile(t, parameters, p.stdout.String())
	wantFits(t, "overlap bandwidth", printedOn(t, 80, []string{"overlap", "bandwidth", "--parameters", parameters, "--cores", "12"}))
}
