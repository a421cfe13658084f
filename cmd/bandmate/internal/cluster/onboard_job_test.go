package cluster

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
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
		if read.Spec.Template.Spec.NodeName != "node-1" || !strings.HasPrefix(read.Name, "onboard-db") {
			t.Errorf("Job %s on %s", read.Name, read.Spec.Template.Spec.NodeName)
		}
	})
}
