package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/predictor/score/scoretest"
)

// env is one test's view of the cluster; what it creates goes when the test ends.
type env struct {
	*testing.T
	suite
	ctx context.Context
}

func newEnv(t *testing.T) *env {
	e := &env{T: t, suite: shared, ctx: context.Background()}
	t.Cleanup(e.clear)
	e.clear()
	e.profiles(e.table)
	return e
}

func (e *env) clear() {
	now := int64(0)
	immediately := metav1.DeleteOptions{GracePeriodSeconds: &now}
	everything := metav1.ListOptions{}
	must := func(err error) {
		if err != nil && !apierrors.IsNotFound(err) {
			e.Fatal(err)
		}
	}
	must(e.client.CoreV1().Pods("default").DeleteCollection(e.ctx, immediately, everything))
	must(e.client.EventsV1().Events("default").DeleteCollection(e.ctx, immediately, everything))
	must(e.client.CoreV1().Nodes().DeleteCollection(e.ctx, immediately, everything))
	e.eventually("an empty cluster", func() error {
		pods, err := e.client.CoreV1().Pods("default").List(e.ctx, everything)
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods left", len(pods.Items))
		}
		return err
	})
}

func (e *env) eventually(what string, check func() error) {
	e.Helper()
	var err error
	for start := time.Now(); time.Since(start) < soon; time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	e.Fatalf("%s: not within %v: %v\n%s", what, soon, err, tail(e.cluster.Log(controlplane.Scheduler)))
}

func tail(log string) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(len(lines)-15, 0):], "\n")
}

// profiles puts the sound profiles of the table into the cluster and waits until
// the scheduler has them.
func (e *env) profiles(t *scoretest.Table) {
	e.Helper()
	want := 0
	for _, p := range t.Applications {
		if len(p.Validate()) > 0 {
			continue // the API server refuses it
		}
		want++
		e.apply("applicationprofiles", p)
	}
	for _, m := range t.Machines {
		e.apply("machineprofiles", m)
	}
	e.eventually("the scheduler has the profiles", func() error {
		got, err := e.metric(`bandmate_profiles{state="known"}`)
		if err == nil && got < float64(want) {
			err = fmt.Errorf("%v of %d", got, want)
		}
		return err
	})
}

// apply creates or replaces a profile.
func (e *env) apply(resourceName string, o runtime.Object) {
	e.Helper()
	if err := e.tryApply(resourceName, o); err != nil {
		e.Fatal(err)
	}
}

func (e *env) tryApply(resourceName string, o runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	api := e.dynamic.Resource(v1alpha1.GroupVersion().WithResource(resourceName))
	_, err = api.Create(e.ctx, u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		old, getErr := api.Get(e.ctx, u.GetName(), metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		u.SetResourceVersion(old.GetResourceVersion())
		_, err = api.Update(e.ctx, u, metav1.UpdateOptions{})
	}
	return err
}

func (e *env) node(n controlplane.Node) {
	e.Helper()
	if err := e.cluster.AddNode(e.ctx, n); err != nil {
		e.Fatal(err)
	}
}

// pod is a pod in few words.
type pod struct {
	name, application, limit, scheduler string
	node                                string // bound there from the start
	numaNode                            string
	priority                            string  // a priority class
	group                               string  // of pods, all or none of which are placed
	cpus                                float64 // requests none when 0
	annotations                         map[string]string
}

func (p pod) object() *v1.Pod {
	o := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec: v1.PodSpec{
			NodeName: p.node, SchedulerName: p.scheduler,
			Containers: []v1.Container{{Name: "c", Image: "none"}},
		},
	}
	if p.application != "" {
		o.Labels[v1alpha1.ApplicationLabel] = p.application
	}
	if p.limit != "" {
		o.Annotations[v1alpha1.MaxSlowdownAnnotation] = p.limit
	}
	if p.numaNode != "" {
		o.Annotations[v1alpha1.NUMANodeAnnotation] = p.numaNode
	}
	maps.Copy(o.Annotations, p.annotations)
	o.Spec.PriorityClassName = p.priority
	if p.group != "" {
		o.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &p.group}
	}
	if p.cpus > 0 {
		o.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(p.cpus*1000), resource.DecimalSI)}
	}
	return o
}

func (e *env) create(p pod) *v1.Pod {
	e.Helper()
	created, err := e.client.CoreV1().Pods("default").Create(e.ctx, p.object(), metav1.CreateOptions{})
	if err != nil {
		e.Fatal(err)
	}
	return created
}

// heralds counts the pods by which residents knows what the scheduler has heard of.
var heralds atomic.Int64

// residents creates pods that have run on their nodes for an hour, and waits until the
// scheduler's cache can have heard of them: it hears of objects in order, so a
// pod of its own that was placed later is the sign.
func (e *env) residents(pods ...pod) {
	e.Helper()
	for _, p := range pods {
		e.create(p)
	}
	earlier := fmt.Sprintf(`{"status":{"startTime":%q,"containerStatuses":null}}`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	for _, p := range pods {
		e.running(p.name)
		if _, err := e.client.CoreV1().Pods("default").Patch(e.ctx, p.name, types.MergePatchType, []byte(earlier), metav1.PatchOptions{}, "status"); err != nil {
			e.Fatal(err)
		}
	}
	// A name of its own: a late deletion of an earlier one does not concern it.
	herald := fmt.Sprintf("herald-%d", heralds.Add(1))
	e.create(pod{name: herald, scheduler: plainScheduler})
	e.placed(herald)
	e.remove(herald)
}

// running waits until a pod runs on its simulated node.
func (e *env) running(name string) {
	e.Helper()
	e.eventually("pod "+name+" runs", func() error {
		p, err := e.client.CoreV1().Pods("default").Get(e.ctx, name, metav1.GetOptions{})
		if err == nil && p.Status.Phase != v1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
}

func (e *env) remove(name string) {
	e.Helper()
	now := int64(0)
	if err := e.client.CoreV1().Pods("default").Delete(e.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		e.Fatal(err)
	}
}

// placed waits until a pod is on a node and returns which.
func (e *env) placed(name string) string {
	e.Helper()
	var node string
	e.eventually("pod "+name+" placed", func() error {
		p, err := e.client.CoreV1().Pods("default").Get(e.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if node = p.Spec.NodeName; node == "" {
			return fmt.Errorf("pending: %v", p.Status.Conditions)
		}
		return nil
	})
	return node
}

// pending waits until the scheduler has refused a pod and returns its reason,
// and fails when the pod is placed after all.
func (e *env) pending(name string) string {
	e.Helper()
	var reason string
	e.eventually("pod "+name+" refused", func() error {
		p, err := e.client.CoreV1().Pods("default").Get(e.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
				reason = c.Message
				return nil
			}
		}
		return fmt.Errorf("no condition yet, node %q", p.Spec.NodeName)
	})
	return reason
}

// event waits for an event of a reason on a pod and returns its note.
func (e *env) event(name, reason string) string {
	e.Helper()
	var note string
	e.eventually("event "+reason+" on "+name, func() error {
		events, err := e.client.EventsV1().Events("default").List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == name && event.Reason == reason {
				note = event.Note
				return nil
			}
		}
		return fmt.Errorf("none among %d", len(events.Items))
	})
	return note
}

// metric returns a sample of the scheduler's metrics; 0 where it has none.
func (e *env) metric(series string) (float64, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test server on loopback
	}}
	answer, err := client.Get(e.cluster.Server(controlplane.Scheduler) + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics: %s: %w", answer.Status, err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, nil
}

// eventuallyMetric waits until a metric has at least a value.
func (e *env) eventuallyMetric(series string, least float64) {
	e.Helper()
	e.eventually(series, func() error {
		got, err := e.metric(series)
		if err == nil && got < least {
			err = fmt.Errorf("%v, want %v", got, least)
		}
		return err
	})
}

// connect returns the suite with another cluster.
func (e *env) connect(c *controlplane.Cluster) suite {
	e.Helper()
	config, err := c.Config()
	if err != nil {
		e.Fatal(err)
	}
	return suite{cluster: c, client: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config), table: e.table}
}
