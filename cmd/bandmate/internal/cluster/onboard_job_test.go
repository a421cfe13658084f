package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// Whatever pod is given, the Job is refused or is one that can be read, on the
// node that was asked for.
func FuzzPodTemplate(f *testing.F) {
	for _, text := range []string{
		"", "kind: Pod", "kind: List\nitems: []", "{kind: PodTemplate, template: {spec: {containers: [{name: a}]}}}",
		"{kind: Pod, spec: {containers: [{name: a, command: [x], resources: {limits: {cpu: 2}}}]}}",
		"{kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, command: [x], resources: {limits: {cpu: 4}, requests: {cpu: 1}}}]}}}}}}",
		`{kind: Pod, spec: {containers: [{name: "a\nb", command: [x], resources: {limits: {cpu: 2}}}, {name: "c\n"}]}}`,
		"{kind: Deployment, spec: {template: 3}}", "{kind: Pod, spec: {containers: [{resources: {limits: {cpu: 1e99}}}]}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pod, err := podTemplate(text)
		if err != nil {
			return
		}
		job, _, err := makeJob(pod, jobRequest{application: "db", machine: "m", node: "node-1", image: "bandmate", serviceAccount: "s"})
		if err != nil {
			return
		}
		var read batchv1.Job
		if err := yaml.UnmarshalStrict(job, &read); err != nil {
			t.Fatalf("%v\n%s", err, job)
		}
		for _, c := range slices.Concat(read.Spec.Template.Spec.InitContainers, read.Spec.Template.Spec.Containers) {
			for _, m := range c.VolumeMounts {
				if m.MountPath == imageProgram && c.Image == "bandmate" {
					t.Errorf("container %s mounts a volume over the program of its image", c.Name)
				}
			}
		}
		if read.Spec.Template.Spec.NodeName != "node-1" || !strings.HasPrefix(read.Name, "onboard-db") {
			t.Errorf("Job %s on %s", read.Name, read.Spec.Template.Spec.NodeName)
		}
	})
}

// imageProgram is the path of the program in the image of bandmate.
const imageProgram = "/bandmate"

// What hack/image makes has the program where no volume is mounted, and the tag of the
// manifests is the one that is used by default.
func TestJobFitsTheImage(t *testing.T) {
	for file, want := range map[string]string{
		"hack/image/Dockerfile":               `ENTRYPOINT ["` + imageProgram + `"]`,
		"manifests/chart/Chart.yaml":          "appVersion: " + manifestVersion,
		"manifests/overlays/agent/agent.yaml": "image: bandmate:" + manifestVersion,
	} {
		text, err := os.ReadFile(filepath.Join("../../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	if imageProgram == programFolder || imageProgram == storeFolder {
		t.Error("a volume is mounted over the program of the image")
	}
	if image := defaultImage(); strings.HasSuffix(image, ":latest") || strings.ContainsAny(image, "+") {
		t.Errorf("default image %s", image)
	}
}

// A Job ends with its application: what runs beside it for as long as the pod is a sidecar.
func TestSidecarsOfAJob(t *testing.T) {
	const resources = "resources: {limits: {cpu: 2, memory: 3Gi}}"
	const app = "{name: app, command: [x], restartPolicy: Always, " + resources + "}"
	for name, test := range map[string]struct {
		template, containers, inits string
	}{
		"alone":           {"{kind: Pod, spec: {containers: [" + app + "]}}", "app", "bandmate"},
		"a service":       {"{kind: Pod, spec: {initContainers: [{name: setup}], containers: [{name: side, startupProbe: {}}, " + app + "]}}", "app", "bandmate setup side!"},
		"a Job":           {"{kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: upload}, " + app + "]}}}}", "upload app", "bandmate"},
		"both":            {"{kind: Job, spec: {template: {spec: {restartPolicy: OnFailure, containers: [{name: proxy, restartPolicy: Always}, {name: upload}, " + app + "]}}}}", "upload app", "bandmate proxy!"},
		"an ending child": {"{kind: Pod, spec: {containers: [" + app + ", {name: once, restartPolicy: Never}]}}", "app once!", "bandmate"},
	} {
		pod, err := podTemplate([]byte(test.template))
		if err != nil {
			t.Fatal(name, err)
		}
		text, _, err := makeJob(pod, jobRequest{application: "db", node: "node-1", container: "app", image: "bandmate", serviceAccount: "s"})
		if err != nil {
			t.Fatal(name, err)
		}
		var job batchv1.Job
		if err := yaml.UnmarshalStrict(text, &job); err != nil {
			t.Fatal(name, err)
		}
		spec := job.Spec.Template.Spec
		names := func(containers []corev1.Container) string {
			var all []string
			for _, c := range containers {
				said := c.Name
				if c.RestartPolicy != nil {
					said += "!"
				}
				if c.StartupProbe != nil {
					t.Errorf("%s: %s has a probe", name, c.Name)
				}
				if ours := len(c.Args) > 0 && c.Args[0] == "onboard"; ours != (c.Name == "app") {
					t.Errorf("%s: %s runs %v", name, c.Name, c.Args)
				}
				all = append(all, said)
			}
			return strings.Join(all, " ")
		}
		if got := names(spec.Containers); got != test.containers {
			t.Errorf("%s: containers %s, want %s", name, got, test.containers)
		}
		if got := names(spec.InitContainers); got != test.inits {
			t.Errorf("%s: init containers %s, want %s", name, got, test.inits)
		}
		if said := strings.Contains(string(text), "as sidecars"); said != strings.Contains(test.inits, "!") {
			t.Errorf("%s: the Job says of sidecars: %v", name, said)
		}
	}
}

// The Job of a pod that runs is none of its gang, and has nothing that no Job may have.
func TestJobOfARunningPod(t *testing.T) {
	pod, err := podTemplate([]byte(`
kind: Pod
spec:
  nodeName: elsewhere
  schedulingGroup: {podGroupName: gang}
  containers: [{name: db, command: [db], resources: {limits: {cpu: 2}}}]
  ephemeralContainers: [{name: debugger, image: busybox, targetContainerName: db}]`))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := makeJob(pod, jobRequest{application: "db", node: "node-1", image: "bandmate", serviceAccount: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"schedulingGroup", "ephemeralContainers", "elsewhere"} {
		if strings.Contains(string(text), field) {
			t.Errorf("the Job has %s:\n%s", field, text)
		}
	}
}

// The CPU manager of the kubelet gives CPUs to pods that are Guaranteed alone.
func TestJobWithoutItsOwnCPUs(t *testing.T) {
	const app = "{name: app, command: [x], resources: {limits: {cpu: 2, memory: 3Gi}}}"
	for pod, want := range map[string]string{
		"containers: [" + app + "]": "",
		"containers: [" + app + ", {name: side, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {memory: 1024Mi}}}]": "",
		"containers: [{name: app, command: [x], resources: {limits: {cpu: 2}}}]":                                          "to app",
		"initContainers: [{name: setup}], containers: [" + app + ", {name: side, resources: {limits: {cpu: 1}}}]":         "to setup, side",
		"containers: [" + app + ", {name: side, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 100m}}}]":      "to side",
		"resources: {limits: {cpu: 2}}, containers: [" + app + "]":                                                        "the pod itself has resources",
	} {
		template, err := podTemplate([]byte("{kind: Pod, spec: {" + pod + "}}"))
		if err != nil {
			t.Fatal(pod, err)
		}
		_, got, err := makeJob(template, jobRequest{application: "db", node: "node-1", image: "bandmate", serviceAccount: "s"})
		if err != nil || !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, %v; want %q", pod, got, err, want)
		}
	}
}

func TestEnoughMemory(t *testing.T) {
	for _, test := range []struct{ limit, request, want string }{
		{"", "", ""},
		{"1Gi", "", "want 1280 MiB or more"},
		{"1Gi", "1Gi", "want 1280 MiB or more"},
		{"1280Mi", "", ""},
		{"2Gi", "1536Mi", "want 2560 MiB or more"},
		{"2560Mi", "1536Mi", ""},
	} {
		var c corev1.Container
		set := func(list *corev1.ResourceList, text string) {
			if text != "" {
				*list = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
			}
		}
		set(&c.Resources.Limits, test.limit)
		set(&c.Resources.Requests, test.request)
		err := enoughMemory(&c)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("limit %s, request %s: %v, want %q", test.limit, test.request, err, test.want)
		}
	}
}
