package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// Annotations that cannot be read never keep a pod, or the scheduler, from
// working: an event says so, and the pod has no limit, or waits, by policy.
func TestAnnotationsThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"not a number": "slightly", "below one": "0.5", "infinite": "inf", "hexadecimal": "0x2p3",
		"a script": "<script>alert(1)</script>", "huge": strings.Repeat("9", 200_000), "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.node(controlplane.Node{Name: "n", Labels: blade()})
			annotations := map[string]string{v1alpha1.MaxSlowdownAnnotation: text}
			e.create(pod{name: "lenient", application: "plain", annotations: annotations, scheduler: ours})
			e.placed("lenient")
			if note := e.event("lenient", "InvalidBandmateAnnotation"); !strings.Contains(note, "it is ignored") || len(note) > 1024 {
				t.Errorf("event %.300q", note)
			}
			e.create(pod{name: "strict", application: "plain", annotations: annotations, scheduler: rejecting})
			if reason := e.pending("strict"); !strings.Contains(reason, "such as 1.15") {
				t.Errorf("reason %.300q", reason)
			}
			corrected, err := e.client.CoreV1().Pods("default").Get(e.ctx, "strict", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			corrected.Annotations[v1alpha1.MaxSlowdownAnnotation] = "1.5"
			if _, err := e.client.CoreV1().Pods("default").Update(e.ctx, corrected, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			e.placed("strict")
		})
	}
}

// Profiles that the API server lets through and nobody should believe count as
// none, and are counted.
func TestInvalidProfiles(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	for _, p := range e.table.Applications {
		if p.Name == "spoilt" {
			if err := e.tryApply("applicationprofiles", p); err == nil {
				t.Error("the API server takes a performance below zero")
			}
		}
	}
	backwards := e.table.Applications[0].DeepCopy()
	backwards.Name = "backwards"
	points := backwards.Spec.Curves[0].Points
	points[0], points[3] = points[3], points[0]
	e.apply("applicationprofiles", backwards)
	e.Cleanup(func() {
		api := e.dynamic.Resource(v1alpha1.GroupVersion().WithResource("applicationprofiles"))
		if err := api.Delete(e.ctx, "backwards", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	e.eventuallyMetric(`bandmate_profiles{state="invalid"}`, 1)
	e.untilPredicted("backwards", "want more than the previous")
}

// untilPredicted places pods of an application until their event says something.
// Every scheduler of the process has profiles of its own, which come at different
// moments, so that no metric tells when one of them has them.
func (e *env) untilPredicted(application, want string) {
	e.Helper()
	var note string
	for i := range 60 {
		name := fmt.Sprintf("p%d", i)
		e.create(pod{name: name, application: application, scheduler: ours})
		e.placed(name)
		if note = e.event(name, "SlowdownPredicted"); strings.Contains(note, want) {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	e.Fatalf("event %q, want %q in it", note, want)
}

// The resources are removed while the scheduler runs: everybody becomes unknown
// and is still scheduled; they come back, and so does the prediction.
func TestResourcesRemovedAndBack(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	if err := e.cluster.RemoveCRDs(e.ctx, crds); err != nil {
		t.Fatal(err)
	}
	e.eventually("the watch is known to be down", func() error {
		up, err := e.metric(`bandmate_profiles_synced{resource="applicationprofiles"}`)
		if err == nil && up != 0 {
			err = fmt.Errorf("synced is %v", up)
		}
		return err
	})
	e.create(pod{name: "labeled", application: "plain", limit: "1.05", scheduler: ours})
	e.create(pod{name: "unlabeled", scheduler: ours})
	e.placed("labeled")
	e.placed("unlabeled")
	if err := e.cluster.InstallCRDs(e.ctx, crds); err != nil {
		t.Fatal(err)
	}
	e.profiles(e.table)
	e.untilPredicted("plain", "× for this pod")
}

// The API server is away for a while: the scheduler survives, keeps its profiles,
// and goes on when it is back.
func TestAPIServerAway(t *testing.T) {
	e := newEnv(t)
	for _, name := range []string{"loud", "calm"} {
		e.node(controlplane.Node{Name: name, Labels: blade()})
	}
	e.residents(pod{name: "writer", application: "writer", node: "loud"}, pod{name: "filler", node: "calm", cpus: 16})
	if err := e.cluster.Stop(controlplane.APIServer); err != nil {
		t.Fatal(err)
	}
	time.Sleep(away())
	if err := e.cluster.Start(e.ctx, controlplane.APIServer); err != nil {
		t.Fatal(err)
	}
	// With its lease lost the scheduler ends, as kube-scheduler does, for its
	// kubelet to start it again.
	if err := e.cluster.Stop(controlplane.Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := e.cluster.Start(e.ctx, controlplane.Scheduler); err != nil {
		t.Fatal(err)
	}
	e.create(pod{name: "tender", application: "tender", scheduler: ours})
	if got := e.placed("tender"); got != "calm" {
		t.Errorf("placed on %s, want calm", got)
	}
}

// away is how long the API server is gone: a minute, seconds with -short.
func away() time.Duration {
	if testing.Short() {
		return 3 * time.Second
	}
	return time.Minute
}

// A dropped watch is taken up again, and what changed meanwhile is seen.
func TestWatchDropped(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	if err := e.cluster.Stop(controlplane.APIServer); err != nil {
		t.Fatal(err)
	}
	if err := e.cluster.Start(e.ctx, controlplane.APIServer); err != nil {
		t.Fatal(err)
	}
	fresh := e.table.Applications[0].DeepCopy()
	fresh.Name = "fresh"
	e.eventually("the API server takes it", func() error { return e.tryApply("applicationprofiles", fresh) })
	e.Cleanup(func() {
		api := e.dynamic.Resource(v1alpha1.GroupVersion().WithResource("applicationprofiles"))
		if err := api.Delete(e.ctx, "fresh", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	e.untilPredicted("fresh", "predicted 1.00× for this pod")
}

// cluster starts a cluster of the test's own; o needs neither Dir nor Bin.
func cluster(t *testing.T, o controlplane.Options) *env {
	t.Helper()
	o.Dir, o.Bin = filepath.Join(t.TempDir(), "c"), os.Getenv("BANDMATE_CLUSTER_BIN")
	c, err := controlplane.Up(context.WithoutCancel(t.Context()), o) // it has to live until Down
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	e := &env{T: t, suite: shared, ctx: context.Background()}
	e.cluster = c
	e.suite = e.connect(c)
	return e
}

// A cluster in which the resources were never installed schedules everybody.
func TestResourcesNeverInstalled(t *testing.T) {
	e := cluster(t, controlplane.Options{})
	e.node(controlplane.Node{Name: "n"})
	e.create(pod{name: "labeled", application: "plain", limit: "1.05", scheduler: ours})
	e.create(pod{name: "unlabeled", scheduler: ours})
	e.placed("labeled")
	e.placed("unlabeled")
	e.eventuallyMetric(`bandmate_profile_sync_failures_total{resource="applicationprofiles"}`, 1)
}

// Two schedulers, each with its own lease and name, see each other's pods.
func TestTwoSchedulers(t *testing.T) {
	e := newEnv(t)
	const nodes, pods = 4, 24
	for i := range nodes {
		e.node(controlplane.Node{Name: fmt.Sprintf("n%d", i), Labels: blade(), CPUs: 1000})
	}
	config := strings.NewReplacer(
		"resourceName: bandmate-scheduler", "resourceName: second",
		"schedulerName: default-scheduler", "schedulerName: second-default",
		"schedulerName: bandmate-scheduler", "schedulerName: second-bandmate",
	).Replace(controlplane.DefaultSchedulerConfig(e.cluster.SchedulerKubeconfig()))
	file := filepath.Join(t.TempDir(), "second.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.cluster.StartProgram(e.ctx, "second", controlplane.Scheduler, "--config="+file, "--secure-port=0", "--v=2"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.cluster.Stop("second"); err != nil {
			t.Error(err)
		}
	}()
	for i := range pods {
		e.create(pod{name: fmt.Sprintf("p%d", i), application: []string{"plain", "reader"}[i/2%2], scheduler: []string{ours, "second-bandmate"}[i%2]})
	}
	count := map[string]int{}
	for i := range pods {
		count[e.placed(fmt.Sprintf("p%d", i))]++
	}
	for i := range nodes {
		if n := count[fmt.Sprintf("n%d", i)]; n == 0 || n > 2*pods/nodes {
			t.Errorf("%v, want about %d each", count, pods/nodes)
			break
		}
	}
}

// Ten thousand profiles arrive and are used.
func TestTenThousandProfiles(t *testing.T) {
	e := newEnv(t)
	const profiles, workers = 10_000, 32
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	base := e.table.Applications[1]
	var wait sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < profiles; i += workers {
				p := base.DeepCopy()
				p.Name = fmt.Sprintf("many-%d", i)
				if err := e.tryApply("applicationprofiles", p); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	e.eventuallyMetric(`bandmate_profiles{state="known"}`, profiles)
	e.untilPredicted(fmt.Sprintf("many-%d", profiles-1), "× for this pod")
	all := e.dynamic.Resource(v1alpha1.GroupVersion().WithResource("applicationprofiles"))
	// By pages: the API server ends a request that takes longer than a minute.
	for left := 1; left > 0; {
		if err := all.DeleteCollection(e.ctx, metav1.DeleteOptions{}, metav1.ListOptions{Limit: 500}); err != nil {
			t.Fatal(err)
		}
		list, err := all.List(e.ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		left = len(list.Items)
	}
}

// Arguments that are wrong stop the start with the path of each fault.
func TestWrongArguments(t *testing.T) {
	for name, test := range map[string]struct{ args, want string }{
		"an unknown policy":   {`{unknownApplications: hope}`, `pluginConfig[Bandmate].args.unknownApplications: Unsupported value: "hope"`},
		"assume nothing":      {`{unknownApplications: assume}`, `args.assumedBytesPerSecond: Required value`},
		"a share above one":   {`{assumedReadShare: 75}`, `args.assumedReadShare: Invalid value: 75`},
		"a field nobody has":  {`{maxSlowdown: 1.1}`, `unknown field "maxSlowdown"`},
		"a number for a name": {`{objective: 7}`, `objective`},
		"several at once":     {`{objective: beauty, exactDomains: 0, measuredTrafficMaxAge: 0s}`, `args.measuredTrafficMaxAge: Invalid value: "0s"`},
	} {
		t.Run(name, func(t *testing.T) {
			config := controlplane.DefaultSchedulerConfig(shared.cluster.SchedulerKubeconfig()) +
				"  pluginConfig: [{name: Bandmate, args: " + test.args + "}]\n"
			file := filepath.Join(t.TempDir(), "scheduler.yaml")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			out, err := exec.CommandContext(ctx, filepath.Join(os.Getenv("BANDMATE_CLUSTER_BIN"), controlplane.Scheduler),
				"--config="+file, "--secure-port=0").CombinedOutput()
			text := strings.ReplaceAll(string(out), `\"`, `"`) // klog quotes the error
			if err == nil || ctx.Err() != nil || !strings.Contains(text, test.want) {
				t.Errorf("error %v, want %q in\n%s", err, test.want, out)
			}
		})
	}
}
