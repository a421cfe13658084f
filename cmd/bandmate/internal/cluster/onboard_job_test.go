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
		"{kind: Deployment, spec: {template: 3}}", "{kind: Pod, spec: {containers: [{resources: {limits: {cpu: 1e99}}}]}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pod, err := podTemplate(text)
		if err != nil {
			return
		}
		job, err := makeJob(pod, jobRequest{application: "db", machine: "m", node: "node-1", image: "bandmate", serviceAccount: "s"})
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
