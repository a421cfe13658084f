package manifests

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// schedulerName differs from that of the scheduler which the test cluster brings.
const schedulerName = "bandmate-e2e"

// world is a control plane with the programs to try on it.
type world struct {
	dir, kubeconfig      string
	helm, scheduler, cli string
	config               *rest.Config
	client               kubernetes.Interface
	dynamic              dynamic.Interface
	mapper               *restmapper.DeferredDiscoveryRESTMapper
	metricsPort          int
	// atEnd has something done at the end of the whole test.
	atEnd func(func())
}

// TestCluster installs everything on a real control plane, one step after the
// other, each on what the former ones left. hack/e2e-manifests.sh runs it.
func TestCluster(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"API server accepts every object", testDryRun},
		{"pods are restricted", testPodSecurity},
		{"helm installs and upgrades", testHelm},
		{"roles for people suffice", testApply},
		{"profiles are listed by kubectl's columns", testColumns},
		{"a machine's profile cannot replace another's", testImmutable},
		{"agent changes its own node only", testAgent},
		{"scheduler works with the chart's rights and configuration", testScheduler},
		{"explain says what the scheduler said", testExplain},
		{"scheduler cannot write profiles", testReadOnly},
		{"dashboard shows metrics that exist", testMetrics},
		{"default scheduler takes the plugin", testDefaultScheduler},
		{"onboarding job is accepted and may store its profile", testOnboardingJob},
		{"uninstalling keeps the profiles", testUninstall},
	} {
		t.Run(step.name, func(t *testing.T) { step.run(t, w) })
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		dir: t.TempDir(), kubeconfig: os.Getenv("BANDMATE_E2E_KUBECONFIG"), helm: os.Getenv("BANDMATE_E2E_HELM"),
		scheduler: os.Getenv("BANDMATE_E2E_SCHEDULER"), cli: os.Getenv("BANDMATE_E2E_CLI"), atEnd: t.Cleanup,
	}
	if w.kubeconfig == "" {
		t.Skip("hack/e2e-manifests.sh runs this")
	}
	var err error
	if w.config, err = clientcmd.BuildConfigFromFlags("", w.kubeconfig); err != nil {
		t.Fatal(err)
	}
	w.config.QPS = -1
	w.client = kubernetes.NewForConfigOrDie(w.config)
	w.dynamic = dynamic.NewForConfigOrDie(w.config)
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(w.config)))
	for name, labels := range map[string]map[string]string{
		namespace:  {"pod-security.kubernetes.io/enforce": "restricted"},
		"trusting": {"pod-security.kubernetes.io/enforce": "privileged"},
	} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := w.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run executes a program and returns what it printed.
func (w *world) run(t *testing.T, env []string, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "HOME="+w.dir, "BANDMATE_STORE="+w.dir+"/store", "HELM_CACHE_HOME="+w.dir), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) must(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	out, err := w.run(t, env, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return out
}

// apply applies an object on the server's side.
func (w *world) apply(ctx context.Context, o *unstructured.Unstructured, dryRun ...string) error {
	kind := o.GroupVersionKind()
	mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) { // installed since the first look
		w.mapper.Reset()
		mapping, err = w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return err
	}
	resource := w.dynamic.Resource(mapping.Resource)
	var into dynamic.ResourceInterface = resource
	if o.GetNamespace() != "" {
		into = resource.Namespace(o.GetNamespace())
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = into.Patch(ctx, o.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
		FieldManager: "test", Force: new(true), DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict,
	})
	return err
}

func testDryRun(t *testing.T, w *world) {
	ctx := t.Context()
	sets := map[string][]*unstructured.Unstructured{}
	for name, values := range map[string]string{"chart": "", "chart with everything": everything} {
		for file, text := range mustRender(t, values) {
			if strings.HasSuffix(file, ".yaml") {
				sets[name] = append(sets[name], objects(t, text)...)
			}
		}
	}
	for _, dir := range kustomizations {
		sets[dir] = build(t, dir)
	}
	for name, set := range sets {
		accepted := 0
		for _, o := range set {
			if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
				continue // the Prometheus operator's
			}
			if o.GetKind() == "Pod" && name == "chart with everything" {
				continue // the same, with another image
			}
			if err := w.apply(ctx, o, metav1.DryRunAll); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
				continue
			}
			accepted++
		}
		t.Logf("%s: %d of %d objects accepted", name, accepted, len(set))
	}
}

// template returns the pod of a workload of the chart.
func template(t *testing.T, values, file, kind string) *corev1.Pod {
	t.Helper()
	for _, o := range objects(t, mustRender(t, values)[file]) {
		if o.GetKind() != kind {
			continue
		}
		fields, _, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &pod); err != nil {
			t.Fatal(err)
		}
		pod.Name = "template"
		pod.Spec.PriorityClassName = "" // not installed yet
		return &pod
	}
	t.Fatalf("no %s in %s", kind, file)
	return nil
}

func testPodSecurity(t *testing.T, w *world) {
	const perfmon = "agent: {privileges: perfmon}"
	tests := []struct {
		values, file, kind, namespace string
		refused                       bool
	}{
		{"", "scheduler.yaml", "Deployment", namespace, false},
		{"", "agent.yaml", "DaemonSet", namespace, false},
		{perfmon, "agent.yaml", "DaemonSet", namespace, true},
		{perfmon, "agent.yaml", "DaemonSet", "trusting", false},
	}
	for _, tt := range tests {
		pod := template(t, tt.values, tt.file, tt.kind)
		_, err := w.client.CoreV1().Pods(tt.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if (err != nil) != tt.refused {
			t.Errorf("%s %q in %s: %v", tt.kind, tt.values, tt.namespace, err)
		}
	}
}

func testHelm(t *testing.T, w *world) {
	flags := []string{"-n", namespace, "--set", "scheduler.name=" + schedulerName}
	w.must(t, nil, w.helm, append([]string{"install", "bandmate", chartDir}, flags...)...)
	before := w.schedulerConfig(t)
	out := w.must(t, nil, w.helm, append([]string{"upgrade", "bandmate", chartDir, "--set", "scheduler.args.decisionLog=true"}, flags...)...)
	if !strings.Contains(out, "STATUS: deployed") || !strings.Contains(out, "schedulerName: "+schedulerName) {
		t.Errorf("upgrade says:\n%s", out)
	}
	if after := w.schedulerConfig(t); strings.Contains(before, "decisionLog") || !strings.Contains(after, "decisionLog: true") {
		t.Errorf("configuration before\n%s\nafter\n%s", before, after)
	}
	if out, err := w.run(t, nil, w.helm, append([]string{"upgrade", "bandmate", chartDir, "--set", "scheduler.args.unknownApplications=hope"}, flags...)...); err == nil {
		t.Errorf("a wrong value is accepted:\n%s", out)
	}
}

func (w *world) schedulerConfig(t *testing.T) string {
	t.Helper()
	c, err := w.client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "bandmate-scheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Data["config.yaml"]
}

// as returns a kubeconfig of a service account, whose token may be of a pod.
func (w *world) as(t *testing.T, ns, account string, pod *corev1.Pod) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	token, err := w.client.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientcmd.LoadFromFile(w.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c.AuthInfos = map[string]*clientcmdapi.AuthInfo{account: {Token: token.Status.Token}}
	for _, context := range c.Contexts {
		context.AuthInfo, context.Namespace = account, "default"
	}
	file := filepath.Join(w.dir, account+".kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// person makes a service account with cluster roles, to stand for somebody.
func (w *world) person(t *testing.T, name string, roles ...string) string {
	t.Helper()
	ctx := t.Context()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.client.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-" + strings.ReplaceAll(role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: "default"}},
		}
		if _, err := w.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return "KUBECONFIG=" + w.as(t, "default", name, nil)
}

const profiles = "testdata/profiles.yaml"

func testApply(t *testing.T, w *world) {
	editor := w.person(t, "editor", "bandmate-profile-editor")
	viewer := w.person(t, "viewer", "bandmate-viewer", "system:monitoring")
	out := w.must(t, []string{editor}, w.cli, "apply", profiles)
	if !strings.Contains(out, "applicationprofile.bandmate.dev/sensitive created") {
		t.Errorf("apply says:\n%s", out)
	}
	if out := w.must(t, []string{editor}, w.cli, "apply", profiles); strings.Count(out, "unchanged") != 4 {
		t.Errorf("the second time:\n%s", out)
	}
	if out, err := w.run(t, []string{viewer}, w.cli, "apply", profiles, "--dry-run"); err == nil || !strings.Contains(out, "bandmate-profile-editor") {
		t.Errorf("a viewer may apply, or is not told why not: %v\n%s", err, out)
	}
	if out := w.must(t, []string{viewer}, w.cli, "what-if", "sensitive"); !strings.Contains(out, "node-0") {
		t.Errorf("what-if says:\n%s", out)
	}
}

// testColumns reads the table that kubectl prints.
func testColumns(t *testing.T, w *world) {
	raw, err := w.client.Discovery().RESTClient().Get().AbsPath("/apis/bandmate.dev/v1alpha1/applicationprofiles").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := yaml.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range table.Rows {
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(row.Cells[:6]...)))
	}
	if got, want := strings.Join(lines, ", "), "heavy <nil> 20.0 GB/s 50% 1.05× rack7, sensitive <nil> 1.00 GB/s 100% 2.50× rack7"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func testImmutable(t *testing.T, w *world) {
	for _, o := range objectsOf(t, profiles) {
		if o.GetName() != "heavy" {
			continue
		}
		if err := unstructured.SetNestedField(o.Object, "rack8", "spec", "machine", "name"); err != nil {
			t.Fatal(err)
		}
		if err := w.apply(t.Context(), o); err == nil || !strings.Contains(err.Error(), "profile of another machine") {
			t.Errorf("kubectl apply of another machine's profile: %v", err)
		}
		other, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(w.dir, "other.yaml")
		if err := os.WriteFile(file, other, 0o600); err != nil {
			t.Fatal(err)
		}
		if out := w.must(t, nil, w.cli, "apply", file); !strings.Contains(out, "heavy.rack8 created") {
			t.Errorf("apply says:\n%s", out)
		}
		return
	}
	t.Fatal("no profile of heavy")
}

func testAgent(t *testing.T, w *world) {
	ctx := t.Context()
	pod := template(t, "", "agent.yaml", "DaemonSet")
	pod.Name, pod.Spec.NodeName = "agent-0", "node-0"
	pod, err := w.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := w.as(t, namespace, "bandmate-agent", pod)
	agent := func(node string) (string, error) {
		return w.run(t, []string{"KUBECONFIG=" + kubeconfig}, w.cli, "agent", "--once", "--source", "none", "--machine", "rack7", "--publish-machine=false", "--node", node)
	}
	if out, err := agent("node-0"); err != nil {
		t.Fatalf("its own node: %v\n%s", err, out)
	}
	node, err := w.client.CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{})
	if err != nil || node.Labels["bandmate.dev/machine"] != "rack7" {
		t.Errorf("labels %v, %v", node.Labels, err)
	}
	if out, err := agent("node-1"); err == nil || !strings.Contains(out, "only the node that it runs on") {
		t.Errorf("another node: %v\n%s", err, out)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	for name, patch := range map[string]string{
		"labels of others":      `{"metadata":{"labels":{"zone":"a"}}}`,
		"annotations of others": `{"metadata":{"annotations":{"mine":"x"}}}`,
		"the specification":     `{"spec":{"unschedulable":true}}`,
		"finalizers":            `{"metadata":{"finalizers":["example.com/stay"]}}`,
		"owners":                `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"none","uid":"0"}]}}`,
	} {
		if _, err := client.CoreV1().Nodes().Patch(ctx, "node-0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err == nil {
			t.Errorf("the agent may change %s", name)
		}
	}
	if _, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); err == nil {
		t.Error("the agent may list pods")
	}
}

// testScheduler runs the scheduler as its pod would: with the token of its
// service account and the configuration that the chart wrote.
func testScheduler(t *testing.T, w *world) {
	ctx := t.Context()
	kubeconfig := w.as(t, namespace, "bandmate-scheduler", nil)
	config := filepath.Join(w.dir, "scheduler.yaml")
	var settings map[string]any
	if err := yaml.Unmarshal([]byte(w.schedulerConfig(t)), &settings); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(settings, kubeconfig, "clientConnection", "kubeconfig"); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil || !ok {
		t.Fatal(err)
	}
	w.metricsPort = address.Port
	w.start(t, "--config="+config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", w.metricsPort), "--cert-dir="+w.dir,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--logging-format=json", "--v=2")
	for i, application := range []string{"heavy", "sensitive"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: application, Labels: map[string]string{"bandmate.dev/application": application}},
			Spec: corev1.PodSpec{SchedulerName: schedulerName, Containers: []corev1.Container{{Name: "c", Image: "c"}}, Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0", "node-1"}[:1+i]}},
				}}}},
			}},
		}
		if _, err := w.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, application+" is placed", func() error {
			p, err := w.client.CoreV1().Pods("default").Get(ctx, application, metav1.GetOptions{})
			if err == nil && p.Spec.NodeName == "" {
				err = fmt.Errorf("%+v", p.Status.Conditions)
			}
			return err
		})
	}
	if p, err := w.client.CoreV1().Pods("default").Get(ctx, "sensitive", metav1.GetOptions{}); err != nil || p.Spec.NodeName != "node-1" {
		t.Errorf("sensitive is on %s beside heavy, %v", p.Spec.NodeName, err)
	}
	lease, err := w.client.CoordinationV1().Leases(namespace).Get(ctx, "bandmate-scheduler", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Errorf("lease: %v", err)
	}
}

// start starts the scheduler until the end of the whole test.
func (w *world) start(t *testing.T, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(w.scheduler, args...) // ends with the parent test, below
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.atEnd(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			fmt.Println(log.String())
		}
	})
}

// eventually tries for a while.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func testExplain(t *testing.T, w *world) {
	ctx := t.Context()
	var said string
	eventually(t, "the event", func() error {
		events, err := w.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=sensitive"})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == "SlowdownPredicted" {
				said = e.Message
				return nil
			}
		}
		return fmt.Errorf("%d other events", len(events.Items))
	})
	found := regexp.MustCompile(`predicted ([0-9.]+×).*runner-up (\S+) ([0-9.]+×)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("the event says %q", said)
	}
	plugin := filepath.Join(w.dir, "kubectl-bandmate")
	if err := os.Symlink(w.cli, plugin); err != nil {
		t.Fatal(err)
	}
	viewer := "KUBECONFIG=" + filepath.Join(w.dir, "viewer.kubeconfig")
	out := w.must(t, []string{viewer}, plugin, "explain", "sensitive")
	for _, want := range []string{
		said[:20], "where it is: node-1", "slowdown " + found[1],
		"here",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("explain lacks %q:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`(?m)^` + found[2] + ` +` + found[3]).MatchString(out) {
		t.Errorf("the event says %q, explain says\n%s", said, out)
	}
	t.Logf("explain:\n%s", out)
	t.Logf("what-if:\n%s", w.must(t, []string{viewer}, plugin, "what-if", "sensitive", "--node", "node-0"))
	if help := w.must(t, nil, plugin, "explain", "--help"); !strings.Contains(help, "kubectl bandmate explain POD") {
		t.Errorf("help says\n%s", help)
	}
}

func testReadOnly(t *testing.T, w *world) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(w.dir, "bandmate-scheduler.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config)
	for _, o := range objectsOf(t, profiles) {
		mapping, err := w.mapper.RESTMapping(o.GroupVersionKind().GroupKind())
		if err != nil {
			t.Fatal(err)
		}
		resource := client.Resource(mapping.Resource)
		if _, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{}); err != nil {
			t.Errorf("reading: %v", err)
		}
		if err := resource.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err == nil {
			t.Errorf("the scheduler may delete %s", o.GetName())
		}
	}
}

func objectsOf(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, string(text))
}

func testMetrics(t *testing.T, w *world) {
	viewer, err := clientcmd.BuildConfigFromFlags("", filepath.Join(w.dir, "viewer.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", w.metricsPort), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+viewer.BearerToken)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %v %s", response.Status, err, text)
	}
	shown := 0
	for _, name := range dashboardMetrics(t) {
		if strings.HasPrefix(name, "bandmate_agent_") {
			continue
		}
		shown++
		switch name {
		case "bandmate_measured_traffic_total", "bandmate_profile_sync_failures_total":
			continue // told once there is something to tell
		}
		if !strings.Contains(string(text), "# TYPE "+name+" ") {
			t.Errorf("the scheduler does not tell %s", name)
		}
	}
	t.Logf("%d metrics of the dashboard are the scheduler's", shown)
}

func testDefaultScheduler(t *testing.T, w *world) {
	for _, o := range build(t, "../default-scheduler") {
		if err := w.apply(t.Context(), o); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	text, err := os.ReadFile("../default-scheduler/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(w.dir, "default.yaml")
	if err := os.WriteFile(config, bytes.ReplaceAll(text, []byte("/etc/kubernetes/scheduler.conf"), []byte(w.kubeconfig)), 0o600); err != nil {
		t.Fatal(err)
	}
	written := filepath.Join(w.dir, "written.yaml")
	if out, err := w.run(t, nil, w.scheduler, "--config="+config, "--write-config-to="+written, "--cert-dir="+w.dir, "--secure-port=0"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	full, err := os.ReadFile(written)
	if err != nil || !strings.Contains(string(full), "BandmateArgs") || !strings.Contains(string(full), "schedulerName: default-scheduler") {
		t.Errorf("%v\n%s", err, full)
	}
}

func testUninstall(t *testing.T, w *world) {
	w.must(t, nil, w.helm, "uninstall", "bandmate", "-n", namespace)
	if _, err := w.client.AppsV1().Deployments(namespace).Get(t.Context(), "bandmate-scheduler", metav1.GetOptions{}); err == nil {
		t.Error("the scheduler is still there")
	}
	if out := w.must(t, nil, w.cli, "profiles", "list", "--cluster"); !strings.Contains(out, "sensitive") {
		t.Errorf("the profiles are gone:\n%s", out)
	}
}

func testOnboardingJob(t *testing.T, w *world) {
	template := filepath.Join(w.dir, "pod.yaml")
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {containers: [{name: db, image: "db:1", command: [/bin/bench], resources: {limits: {cpu: "2", memory: 2Gi}}}]}}`
	if err := os.WriteFile(template, []byte(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	out := w.must(t, nil, w.cli, "onboard", "db", "--kubernetes", template, "--node", "node-0")
	for _, o := range objects(t, out) {
		o.SetNamespace("default")
		if err := w.apply(t.Context(), o); err != nil {
			t.Error(err)
		}
	}
	// Its pod's account is bound as the first lines of the Job say.
	account := w.person(t, "bandmate-onboard", "bandmate-profile-editor")
	w.must(t, []string{account}, w.cli, "apply", profiles, "--force-conflicts")
}
