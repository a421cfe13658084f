package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/cmd/bandmate/internal/scripttest"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

// TestKubernetesScripts runs the commands that talk to a cluster against an API
// server in memory.
func TestKubernetesScripts(t *testing.T) {
	p := scripttest.Params()
	p.Dir = "testdata/kubernetes"
	common := p.Setup
	p.Setup = func(env *testscript.Env) error {
		server := clustertest.New(scriptTB{env}, clustertest.Applications, clustertest.Machines, clustertest.Nodes, clustertest.Pods, clustertest.Events)
		env.Setenv("KUBECONFIG", server.Kubeconfig)
		env.Values["server"] = server
		return common(env)
	}
	p.Cmds["cluster"] = fillCluster
	p.Cmds["objects"] = wantObjects
	p.Cmds["object"] = showObject
	testscript.Run(t, p)
}

// scriptTB is the part of a test that a script's environment is.
type scriptTB struct{ *testscript.Env }

func (scriptTB) Helper()            {}
func (t scriptTB) Cleanup(f func()) { t.Defer(f) }
func (t scriptTB) Fatal(why ...any) { t.T().Fatal(why...) }
func (t scriptTB) TempDir() string  { return t.WorkDir }

// fillCluster puts the objects of files into the API server: cluster FILE...
func fillCluster(ts *testscript.TestScript, _ bool, files []string) {
	server := serverOf(ts)
	collections := map[string]string{
		"ApplicationProfile": clustertest.Applications, "MachineProfile": clustertest.Machines,
		"Node": clustertest.Nodes, "Pod": clustertest.Pods, "Event": clustertest.Events,
	}
	for _, file := range files {
		for document := range strings.SplitSeq(ts.ReadFile(file), "\n---\n") {
			var header struct{ Kind string }
			ts.Check(yaml.Unmarshal([]byte(document), &header))
			ts.Check(server.Add(collections[header.Kind], document))
		}
	}
}

// wantObjects checks which objects there are: objects COLLECTION NAME...
func wantObjects(ts *testscript.TestScript, _ bool, args []string) {
	got, want := strings.Join(serverOf(ts).Names(collection(ts, args[0])), " "), strings.Join(args[1:], " ")
	if got != want {
		ts.Fatalf("%s: %q, want %q", args[0], got, want)
	}
}

// showObject writes an object to a file as YAML: object COLLECTION NAME FILE
func showObject(ts *testscript.TestScript, _ bool, args []string) {
	text, err := yaml.Marshal(serverOf(ts).Object(collection(ts, args[0]), args[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), text, 0o600))
}

func collection(ts *testscript.TestScript, name string) string {
	for _, c := range []string{clustertest.Applications, clustertest.Machines, clustertest.Nodes, clustertest.Pods} {
		if strings.HasSuffix(c, "/"+name) {
			return c
		}
	}
	ts.Fatalf("%s: no such collection", name)
	return ""
}

func serverOf(ts *testscript.TestScript) *clustertest.Server {
	server, ok := ts.Value("server").(*clustertest.Server)
	if !ok {
		ts.Fatalf("no API server")
	}
	return server
}
