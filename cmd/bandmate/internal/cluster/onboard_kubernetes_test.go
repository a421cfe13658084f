package cluster

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/store/cluster/clustertest"
	"bandmate.dev/bandmate/topology"
)

const rack7 = `{apiVersion: bandmate.dev/v1alpha1, kind: MachineProfile, metadata: {name: rack7},
spec: {sockets: 1, numaNodes: 1, cpus: 8, measurement: {}, sustained: [{readShare: 1, bytesPerSecond: 4.0e+10, repeats: 1}]}}`

// application is a profile of rack7.
func application(name string) *v1alpha1.ApplicationProfile {
	return &v1alpha1.ApplicationProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ApplicationProfileSpec{
			Machine: v1alpha1.MachineReference{Name: "rack7"}, Solo: v1alpha1.Timing{Seconds: 1, Repeats: 1},
			Contentiousness: v1alpha1.Contentiousness{Source: "imported"},
			Curves: []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{
				{Level: 1, InterfererBytesPerSecond: 4e10, NormalizedPerformance: 0.8, Repeats: 1},
			}}},
		},
	}
}

// What is onboarded with --apply uses the cluster's profile of the machine and
// ends up in the cluster; a cluster that cannot be reached is known before the
// experiment, one that refuses afterwards loses nothing.
func TestOnboardAndApply(t *testing.T) {
	server := clustertest.New(t, clustertest.Applications, clustertest.Machines)
	if err := server.Add(clustertest.Machines, rack7); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	a := &cli.App{Stdout: io.Discard, Stderr: io.Discard, Env: os.Getenv, StoreDir: dir}
	folder, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	experiment := func(machine string) error {
		ran++
		if machine != "rack7" {
			t.Errorf("machine %q, want rack7", machine)
		}
		if _, err := folder.Machine("rack7"); err != nil {
			t.Errorf("the cluster's machine is not known: %v", err)
		}
		return folder.Put(application("db"))
	}
	here := cli.ClusterFlags{Kubeconfig: server.Kubeconfig}
	if err := onboardAndApply(t.Context(), a, "db", "rack7", here, experiment); err != nil {
		t.Fatal(err)
	}
	if server.Object(clustertest.Applications, "db") == nil {
		t.Error("the profile is not in the cluster")
	}

	nowhere := cli.ClusterFlags{Kubeconfig: filepath.Join(dir, "none")}
	if err := onboardAndApply(t.Context(), a, "db", "rack7", nowhere, experiment); err == nil || ran != 1 {
		t.Errorf("%d experiments, error %v", ran, err)
	}
	if err := onboardAndApply(t.Context(), a, "db", strings.Repeat("r", 64), here, experiment); err == nil || !strings.Contains(err.Error(), "no node can be labeled with it") || ran != 1 {
		t.Errorf("%d experiments, error %v", ran, err)
	}
	failure := errors.New("too short")
	if err := onboardAndApply(t.Context(), a, "db", "rack7", here, func(string) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	server.Refuse(http.MethodPatch, clustertest.Applications, metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"})
	err = onboardAndApply(t.Context(), a, "db", "rack7", here, experiment)
	if err == nil || !strings.Contains(err.Error(), "try bandmate apply") {
		t.Errorf("error %v", err)
	}
	if _, err := folder.Application("db", "rack7"); err != nil {
		t.Errorf("the folder lost the profile: %v", err)
	}
}

// Flags reach the Job as they were given: those with commas in their values one by one.
func TestPassOn(t *testing.T) {
	flags, own := pflag.NewFlagSet("onboard", pflag.ContinueOnError), pflag.NewFlagSet("own", pflag.ContinueOnError)
	flags.StringArray("request", nil, "")
	flags.StringSlice("levels", nil, "")
	flags.Int("iterations", 1, "")
	own.Bool("apply", false, "")
	flags.AddFlagSet(own)
	given := []string{"--iterations=3", "--levels=50%,100%", "--request=http://db/?a=1,2", "--request=http://db/b"}
	if err := flags.Parse(append(given, "--apply")); err != nil {
		t.Fatal(err)
	}
	if got := passOn(flags, own); !slices.Equal(got, given) {
		t.Errorf("%q, want %q", got, given)
	}
}

// Without --machine a Job uses the cluster's profile of such a machine, whatever the node
// is called, and without one the machine is called as the node, not as the pod.
func TestMachineOfAJob(t *testing.T) {
	here, err := topology.ReadHost()
	if err != nil {
		t.Fatal(err)
	}
	alike := fmt.Sprintf(`{apiVersion: bandmate.dev/v1alpha1, kind: MachineProfile, metadata: {name: rack7},
spec: {cpuModel: %q, sockets: %d, numaNodes: %d, cpus: %d, measurement: {}, sustained: [{readShare: 1, bytesPerSecond: 4.0e+10, repeats: 1}]}}`,
		here.CPUModel, here.Sockets(), len(here.Nodes), len(here.CPUs))
	other := strings.Replace(strings.Replace(rack7, "rack7", "other", 1), "cpus: 8", "cpus: 12345", 1)
	for profile, want := range map[string]string{alike: "rack7", other: "node-1"} {
		server := clustertest.New(t, clustertest.Applications, clustertest.Machines)
		if err := server.Add(clustertest.Machines, profile); err != nil {
			t.Fatal(err)
		}
		a := &cli.App{Stdout: io.Discard, Stderr: io.Discard, StoreDir: filepath.Join(t.TempDir(), "store"), Env: func(name string) string {
			if name == nodeVariable {
				return "node-1"
			}
			return os.Getenv(name)
		}}
		enough := errors.New("enough")
		err := onboardAndApply(t.Context(), a, "db", "", cli.ClusterFlags{Kubeconfig: server.Kubeconfig}, func(machine string) error {
			if machine != want {
				t.Errorf("machine %q, want %q", machine, want)
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Error(err)
		}
	}
}
