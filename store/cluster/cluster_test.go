package cluster_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store/cluster"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

func open(t *testing.T, collections ...string) (*cluster.Store, *clustertest.Server) {
	t.Helper()
	server := clustertest.New(t, collections...)
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.New(client), server
}

func application(name, machine string, seconds float64) *v1alpha1.ApplicationProfile {
	return &v1alpha1.ApplicationProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ApplicationProfileSpec{
			Machine:         v1alpha1.MachineReference{Name: machine},
			Solo:            v1alpha1.Timing{Seconds: seconds, Repeats: 1},
			Contentiousness: v1alpha1.Contentiousness{ReadBytesPerSecond: 1e9, Source: "imported"},
			Curves: []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{
				{Level: 1, InterfererBytesPerSecond: 40e9, NormalizedPerformance: 0.8, Repeats: 1},
			}}},
		},
	}
}

func machine(name string) *v1alpha1.MachineProfile {
	return &v1alpha1.MachineProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.MachineProfileSpec{
			Sockets: 1, NUMANodes: 1, CPUs: 8,
			Sustained: []v1alpha1.SustainedBandwidth{{ReadShare: 1, BytesPerSecond: 40e9, Repeats: 1}},
		},
	}
}

// outcomes puts objects and says what happened, as "OBJECT OUTCOME".
func outcomes(t *testing.T, s *cluster.Store, options cluster.PutOptions, objects ...v1alpha1.Object) string {
	t.Helper()
	results, err := s.Put(t.Context(), options, objects...)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range results {
		if r.Err != nil {
			lines = append(lines, r.Err.Error())
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s", r.Object, r.Outcome))
	}
	return strings.Join(lines, ", ")
}

func TestPut(t *testing.T) {
	s, server := open(t, clustertest.Applications, clustertest.Machines)
	none := cluster.PutOptions{}
	steps := []struct {
		name    string
		options cluster.PutOptions
		object  v1alpha1.Object
		want    string
	}{
		{"a dry run keeps nothing", cluster.PutOptions{DryRun: true}, application("xz", "a", 1), "xz created"},
		{"new", none, application("xz", "a", 1), "xz created"},
		{"the same", none, application("xz", "a", 1), "xz unchanged"},
		{"measured again", none, application("xz", "a", 2), "xz configured"},
		{"a second machine", none, application("xz", "b", 1), "xz.b created"},
		{"the second machine again", none, application("xz", "b", 2), "xz.b configured"},
		{"the first machine again", none, application("xz", "a", 2), "xz unchanged"},
		{"a name that is taken", none, application("xz.b", "c", 1), "xz.b.c created"},
		{"a machine", none, machine("a"), "a created"},
		{"an invalid profile", none, application("xz", "", 1), `ApplicationProfile "xz." is not valid`},
	}
	for _, step := range steps {
		if got := outcomes(t, s, step.options, step.object); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	if diff := cmp.Diff([]string{"xz", "xz.b", "xz.b.c"}, server.Names(clustertest.Applications)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	profiles, broken, err := s.Applications(t.Context())
	if err != nil || len(broken) > 0 {
		t.Fatal(broken, err)
	}
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name+"@"+p.Spec.Machine.Name)
	}
	if diff := cmp.Diff([]string{"xz.b@c", "xz@a", "xz@b"}, names); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
}

// A forced profile replaces one of another owner: fields that it lacks are gone, which
// server-side apply leaves to that owner.
func TestForcedPutReplaces(t *testing.T) {
	s, server := open(t, clustertest.Applications)
	clean, other := open(t, clustertest.Applications)
	err := server.Add(clustertest.Applications, `{apiVersion: bandmate.dev/v1alpha1, kind: ApplicationProfile, metadata: {name: xz},
spec: {machine: {name: a}, solo: {seconds: 2, repeats: 1, spread: 0.1}, measurement: {host: old}, warnings: [old], cache: {capacityBytes: 1}}, summary: {old: 1}}`)
	if err != nil {
		t.Fatal(err)
	}
	profile := application("xz", "a", 1)
	outcomes(t, clean, cluster.PutOptions{}, profile)
	want := other.Object(clustertest.Applications, "xz")
	for i, step := range []struct {
		options  cluster.PutOptions
		want     string
		replaced bool
	}{
		{cluster.PutOptions{DryRun: true, ForceConflicts: true}, "xz configured", false},
		{cluster.PutOptions{ForceConflicts: true}, "xz configured", true},
		{cluster.PutOptions{ForceConflicts: true}, "xz unchanged", true},
	} {
		if got := outcomes(t, s, step.options, profile); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
		got := server.Object(clustertest.Applications, "xz")
		diff := cmp.Diff(want["spec"], got["spec"]) + cmp.Diff(want["summary"], got["summary"])
		if (diff == "") != step.replaced {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// Many objects come page by page, and one that is no profile hides no other.
func TestManyAndBroken(t *testing.T) {
	s, server := open(t, clustertest.Machines)
	for i := range 1200 {
		text := "cpus: 8"
		if i == 7 {
			text = "cpus: many"
		}
		err := server.Add(clustertest.Machines, fmt.Sprintf(`{apiVersion: bandmate.dev/v1alpha1, kind: MachineProfile, metadata: {name: m%04d},
spec: {sockets: 1, numaNodes: 1, %s, measurement: {}, sustained: [{readShare: 1, bytesPerSecond: 1e10, repeats: 1}]}}`, i, text))
		if err != nil {
			t.Fatal(err)
		}
	}
	profiles, broken, err := s.Machines(t.Context())
	if err != nil || len(profiles) != 1199 {
		t.Fatalf("%d profiles, %v", len(profiles), err)
	}
	if len(broken) != 1 || !strings.Contains(broken[0].Error(), `"m0007"`) || !strings.Contains(broken[0].Error(), "apply it again") {
		t.Errorf("broken: %v", broken)
	}
}

func TestRefusals(t *testing.T) {
	details := func(causes ...metav1.StatusCause) *metav1.StatusDetails {
		return &metav1.StatusDetails{Name: "xz", Causes: causes}
	}
	tests := []struct {
		name, method string
		status       metav1.Status
		want         string
		is           error
	}{
		{"forbidden", http.MethodPatch, metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"}, "bandmate-profile-editor", nil},
		{"no credentials", http.MethodGet, metav1.Status{Code: 401, Reason: metav1.StatusReasonUnauthorized, Message: "who"}, "--context", nil},
		{
			"conflict", http.MethodPatch,
			metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict, Details: details(
				metav1.StatusCause{Field: ".spec.solo.seconds", Message: `conflict with "kubectl-client-side-apply"`},
			)},
			`.spec.solo.seconds: conflict with "kubectl-client-side-apply": take them over with --force-conflicts`, cluster.ErrConflict,
		},
		{
			"fields", http.MethodPatch,
			metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "long", Details: details(
				metav1.StatusCause{Field: "spec.machine.name", Message: "another machine"},
				metav1.StatusCause{Field: "spec.solo", Message: "too quick"},
			)},
			"spec.machine.name: another machine\nspec.solo: too quick", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, server := open(t, clustertest.Applications)
			server.Refuse(tt.method, clustertest.Applications, tt.status)
			results, err := s.Put(t.Context(), cluster.PutOptions{}, application("xz", "a", 1))
			if err = errors.Join(err, cluster.Failed(results)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
	s, _ := open(t) // knows none of the resources
	if _, _, err := s.Applications(t.Context()); !errors.Is(err, cluster.ErrNotInstalled) || !strings.Contains(err.Error(), "manifests/base/crds") {
		t.Errorf("without definitions: %v", err)
	}
}
