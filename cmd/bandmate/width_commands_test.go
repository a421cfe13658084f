package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

// printedLines are command lines that need a store of applications, or nothing.
var printedLines = []string{
	"profiles list", "profiles show lu-decomposition", "matrix", "matrix xz sqlite",
	"predict lu-decomposition stream-triad", "predict xz sqlite lammps --explain",
	"pair postgres-15 lammps xz sqlite stream-triad graph500-bfs lu-decomposition",
	"config", "config --all", "doctor", "version",
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
	"observe":                  "measures: see TestWrittenFits",
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
			clitest.WantFits(t, line, escapes.ReplaceAllString(text, ""))
		}
	}
}

func TestOverlapBandwidthFits(t *testing.T) {
	parameters := filepath.Join(t.TempDir(), "p.yaml")
	p := processtest.Bandmate(t, "overlap", "fit", "../../docs/example/sweep.csv", "-o", "yaml")
	p.WantExit(0)
	processtest.WriteFile(t, parameters, p.Stdout.String())
	clitest.WantFits(t, "overlap bandwidth", printedOn(t, 80, []string{"overlap", "bandwidth", "--parameters", parameters, "--cores", "12"}))
}
