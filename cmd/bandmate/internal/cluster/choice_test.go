package cluster

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store/cluster"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

func openCluster(t *testing.T, collections ...string) (*cluster.Store, *clustertest.Server) {
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

func profileOfObject(name, machine string, seconds float64) *v1alpha1.ApplicationProfile {
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

// Commands, which call profiles by their applications, choose as the scheduler does, which
// calls them by their objects: among many to fit, and of two equally old ones.
func TestChoiceIsThatOfTheScheduler(t *testing.T) {
	s, server := openCluster(t, clustertest.Applications)
	var objects []*v1alpha1.ApplicationProfile
	for i, object := range []string{"xz.first", "xz.second", "xz"} {
		p := profileOfObject(object, "a", float64(i+1))
		p.Labels = map[string]string{v1alpha1.ApplicationLabel: "xz"}
		objects = append(objects, p)
		text, err := v1alpha1.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Add(clustertest.Applications, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	profiles, broken, err := s.Applications(t.Context())
	if err != nil || len(broken) > 0 {
		t.Fatal(err, broken)
	}
	got, want := advisor.New(profiles, nil).Lookup("xz", "a"), advisor.New(objects, nil).Lookup("xz", "a")
	if got.Profile.Spec.Solo.Seconds != want.Profile.Spec.Solo.Seconds || want.Profile.Name != "xz" {
		t.Errorf("%+v, want %+v", got.Profile, want.Profile)
	}
	if all := strings.Join(got.Warnings, "\n"); !strings.Contains(all, "xz.first") || !strings.Contains(all, "xz.second") {
		t.Errorf("the warnings do not name the objects: %s", all)
	}
	for _, p := range profiles {
		if text, err := v1alpha1.Encode(p); err != nil || strings.Contains(string(text), "annotations") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// The error of an object that is no sound profile tells whose it is.
func TestBrokenErrorNamesTheProfile(t *testing.T) {
	s, server := openCluster(t, clustertest.Applications)
	for _, text := range []string{
		`metadata: {name: xz}, spec: {machine: {name: a}, solo: {seconds: -1}}`,
		`metadata: {name: xz.b, labels: {bandmate.dev/application: xz}}, spec: {machine: {name: b}, solo: many}`,
	} {
		if err := server.Add(clustertest.Applications, `{apiVersion: bandmate.dev/v1alpha1, kind: ApplicationProfile, `+text+`}`); err != nil {
			t.Fatal(err)
		}
	}
	_, broken, err := s.Applications(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := advisor.New(nil, nil, broken...)
	for _, machine := range []string{"a", "b"} {
		if e := a.Lookup("xz", machine); e.State != advisor.Invalid || !strings.Contains(e.Reason, "apply it again") {
			t.Errorf("on %s: %+v", machine, e)
		}
	}
}
