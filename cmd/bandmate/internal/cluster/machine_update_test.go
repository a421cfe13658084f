package cluster

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/store/cluster/clustertest"
	"bandmate.dev/bandmate/topology"
)

// measuredMachine is rack7, measured at a time, with a network of that rate, if any.
func measuredMachine(measured time.Time, rate float64) *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{ObjectMeta: metav1.ObjectMeta{Name: "rack7"}}
	m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = 1, 1, 8
	m.Spec.Measurement.Time = metav1.NewTime(measured)
	m.Spec.Sustained = []v1alpha1.SustainedBandwidth{{ReadShare: 1, BytesPerSecond: 4e10, Repeats: 1}}
	if rate > 0 {
		m.Spec.Network = &v1alpha1.Network{Model: "myrinet", BytesPerSecond: rate}
	}
	return m
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestUpdatedKeepsSections(t *testing.T) {
	const none, mine, held = 0.0, 1e9, 2e9
	for _, test := range []struct {
		name        string
		age         time.Duration // of the folder's after the cluster's
		in, cluster float64
		want        float64
		stays       string
	}{
		{"the cluster's was measured later", -time.Hour, mine, none, none, "was measured later"},
		{"equally old, the cluster's has a network", 0, none, held, held, ""},
		{"equally old, the folder's has a network", 0, mine, none, mine, ""},
		{"equally old, of another network", 0, mine, held, held, "differs in network"},
		{"equally old, of the same network", 0, mine, mine, mine, ""},
		{"the folder's was measured later, without a network", time.Hour, none, held, held, ""},
		{"the folder's was measured later, with a network", time.Hour, mine, held, mine, ""},
	} {
		put, stays := updated(measuredMachine(noon.Add(test.age), test.in), measuredMachine(noon, test.cluster))
		if (stays == "") != (test.stays == "") || !strings.Contains(stays, test.stays) {
			t.Errorf("%s: %q, want %q", test.name, stays, test.stays)
		}
		if (put == nil) != (test.want == none) || put != nil && put.Spec.Network.BytesPerSecond != test.want {
			t.Errorf("%s: %+v, want a network of %v", test.name, put, test.want)
		}
	}
}

// clusterOf returns a cluster with a profile of a machine, and an App with a folder of mine.
func clusterOf(t *testing.T, held, mine *v1alpha1.MachineProfile) (*clustertest.Server, *cli.App, *store.Store) {
	t.Helper()
	server := clustertest.New(t, clustertest.Applications, clustertest.Machines)
	text, err := v1alpha1.Encode(held)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Add(clustertest.Machines, string(text)); err != nil {
		t.Fatal(err)
	}
	a := &cli.App{Stdout: io.Discard, Stderr: &bytes.Buffer{}, Env: os.Getenv, StoreDir: filepath.Join(t.TempDir(), "store")}
	folder, err := store.Open(a.StoreDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Put(mine); err != nil {
		t.Fatal(err)
	}
	return server, a, folder
}

// networkOf returns the rate of the network in the cluster's profile; 0 without one.
func networkOf(server *clustertest.Server) any {
	spec, _ := server.Object(clustertest.Machines, "rack7")["spec"].(map[string]any)
	network, _ := spec["network"].(map[string]any)
	return network["bytesPerSecond"]
}

// Neither an agent nor an onboarding takes from the cluster what was measured there since.
func TestLaterMachineStays(t *testing.T) {
	for name, later := range map[string]time.Duration{"later": time.Hour, "a section later": 0} {
		server, a, folder := clusterOf(t, measuredMachine(noon.Add(later), 2e9), measuredMachine(noon, 0))
		here := cli.ClusterFlags{Kubeconfig: server.Kubeconfig}
		into, err := here.Store()
		if err != nil {
			t.Fatal(err)
		}
		published, note, err := publishMachine(t.Context(), a, into, "rack7", &topology.Machine{})
		if !published || err != nil || (note == "") != (later == 0) {
			t.Errorf("%s: published %v, %q, %v", name, published, note, err)
		}
		if got := networkOf(server); got == nil {
			t.Errorf("%s: the agent removed the network", name)
		}
		if err := onboardAndApply(t.Context(), a, "db", "rack7", here, func(string) error { return folder.Put(application("db")) }); err != nil {
			t.Fatal(err)
		}
		if got := networkOf(server); got == nil || server.Object(clustertest.Applications, "db") == nil {
			t.Errorf("%s: the onboarding removed the network, or did not apply the profile", name)
		}
	}
}

// A machine that was measured in the run replaces the cluster's profile.
func TestMachineOfTheRunIsApplied(t *testing.T) {
	server, a, folder := clusterOf(t, measuredMachine(noon, 2e9), measuredMachine(noon, 0))
	run := func(string) error {
		if err := folder.Put(measuredMachine(noon.Add(time.Hour), 3e9)); err != nil {
			return err
		}
		return folder.Put(application("db"))
	}
	if err := onboardAndApply(t.Context(), a, "db", "rack7", cli.ClusterFlags{Kubeconfig: server.Kubeconfig}, run); err != nil {
		t.Fatal(err)
	}
	if got := networkOf(server); got != 3e9 {
		t.Errorf("network of %v", got)
	}
}
