package cluster

import (
	"io"
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

// An application whose only profile is invalid has one: what-if says what is wrong with it.
func TestWhatIfOfAnInvalidProfile(t *testing.T) {
	server := clustertest.New(t, clustertest.Applications, clustertest.Machines, clustertest.Nodes, clustertest.Pods)
	if err := server.Add(clustertest.Applications, `{apiVersion: bandmate.dev/v1alpha1, kind: ApplicationProfile,
metadata: {name: db.rack7, labels: {bandmate.dev/application: db}}, spec: {machine: {name: rack7}, solo: {seconds: -1}}}`); err != nil {
		t.Fatal(err)
	}
	a := &cli.App{Stdout: io.Discard, Stderr: io.Discard, Env: os.Getenv}
	for application, want := range map[string]string{
		"db": "the profile of db on rack7 is invalid: ", "ghost": "onboard and apply it",
	} {
		cmd := NewWhatIf(a)
		cmd.SetArgs([]string{application, "--kubeconfig", server.Kubeconfig})
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", application, err, want)
		}
	}
}
