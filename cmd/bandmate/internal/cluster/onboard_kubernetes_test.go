package cluster

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

const rack7 = `{apiVersion: bandmate.dev/v1alpha1, kind: MachineProfile, metadata: {name: rack7},
spec: {sockets: 1, numaNodes: 1, cpus: 8, measurement: {}, sustained: [{readShare: 1, bytesPerSecond: 4.0e+10, repeats: 1}]}}`

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
	experiment := func() error {
		ran++
		if _, err := folder.Machine("rack7"); err != nil {
			t.Errorf("the cluster's machine is not known: %v", err)
		}
		return folder.Put(&v1alpha1.ApplicationProfile{
			ObjectMeta: metav1.ObjectMeta{Name: "db"},
			Spec: v1alpha1.ApplicationProfileSpec{
				Machine: v1alpha1.MachineReference{Name: "rack7"}, Solo: v1alpha1.Timing{Seconds: 1, Repeats: 1},
				Contentiousness: v1alpha1.Contentiousness{Source: "imported"},
				Curves: []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{
					{Level: 1, InterfererBytesPerSecond: 4e10, NormalizedPerformance: 0.8, Repeats: 1},
				}}},
			},
		})
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
	failure := errors.New("too short")
	if err := onboardAndApply(t.Context(), a, "db", "rack7", here, func() error { return failure }); !errors.Is(err, failure) {
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
