package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/interferer"
)

// jobRequest says which Job to make.
type jobRequest struct {
	application, node                string
	machine                          string // empty for the cluster's profile of such a machine
	container, image, serviceAccount string
	command, flags                   []string
}

// Mount paths of the Job's volumes. None is the path of the program in the image of
// bandmate: a folder cannot be mounted over a file.
const (
	programFolder = "/bandmate-program"
	storeFolder   = "/bandmate-profiles"
)

// longest ends a Job that waits for an image, or whose application does not end.
const longest = 2 * time.Hour

// makeJob turns a pod into the Job that onboards it: the application's container
// runs bandmate, which runs the application. What else the pod has runs beside
// it, as it does in production. The warning is empty where there is none.
func makeJob(pod *corev1.PodTemplateSpec, r jobRequest) (text []byte, warning string, err error) {
	pod = pod.DeepCopy()
	at, err := containerOf(pod, r.container)
	if err != nil {
		return nil, "", err
	}
	c, beside := sidecars(&pod.Spec, at)
	command := r.command
	if len(command) == 0 {
		command = slices.Concat(c.Command, c.Args)
	}
	if len(c.Command) == 0 && len(r.command) == 0 {
		return nil, "", fmt.Errorf("container %s has no command, and what its image starts is not known here: give the command after --", c.Name)
	}
	if err := errors.Join(enoughCPUs(c), enoughMemory(c)); err != nil {
		return nil, "", err
	}
	c.Command = []string{programFolder + "/bandmate"}
	flags := r.flags
	if r.machine != "" {
		flags = slices.Concat([]string{"--machine=" + r.machine}, flags)
	}
	c.Args = slices.Concat([]string{"onboard", r.application, "--apply", "--store=" + storeFolder}, flags, []string{"--"}, command)
	c.Env = append(c.Env, corev1.EnvVar{Name: nodeVariable, Value: r.node})
	withoutProbes(c)
	c.Lifecycle, c.RestartPolicy, c.RestartPolicyRules = nil, nil, nil
	c.VolumeMounts = append(c.VolumeMounts,
		corev1.VolumeMount{Name: "bandmate-program", MountPath: programFolder, ReadOnly: true},
		corev1.VolumeMount{Name: "bandmate-profiles", MountPath: storeFolder},
	)
	pod.Spec.InitContainers = append([]corev1.Container{{
		Name: "bandmate", Image: r.image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"copy-itself", programFolder},
		VolumeMounts: []corev1.VolumeMount{{Name: "bandmate-program", MountPath: programFolder}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(1, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("64Mi"),
		}},
	}}, pod.Spec.InitContainers...)
	pod.Spec.Volumes = append(pod.Spec.Volumes, scratch("bandmate-program"), scratch("bandmate-profiles"))
	pod.Spec.RestartPolicy, pod.Spec.ActiveDeadlineSeconds = corev1.RestartPolicyNever, nil
	pod.Spec.NodeName, pod.Spec.SchedulerName, pod.Spec.SchedulingGates = r.node, "", nil
	pod.Spec.SchedulingGroup = nil     // the Job would count as one of a gang
	pod.Spec.EphemeralContainers = nil // no Job may have any
	pod.Spec.ServiceAccountName, pod.Spec.AutomountServiceAccountToken = r.serviceAccount, nil
	// The node is cordoned, and the Job is not to meet its own neighbors.
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists})
	pod.Spec.Affinity, pod.Spec.NodeSelector, pod.Spec.TopologySpreadConstraints = nil, nil, nil
	pod.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/name": "bandmate-onboard"}}
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: jobName(r.application, r.node), Labels: pod.Labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64(longest / time.Second)), TTLSecondsAfterFinished: new(int32(86400)), Template: *pod,
		},
	}
	text, err = writeJob(job, r, c.Name, beside)
	return text, sharesCPUs(&pod.Spec), err
}

// sidecars makes the containers beside that of the application that run as long as the pod
// into sidecars, which end with the application: a Job waits for all others. It
// returns the application's container and the names of the sidecars.
func sidecars(pod *corev1.PodSpec, application int) (c *corev1.Container, names []string) {
	ends := pod.RestartPolicy == corev1.RestartPolicyNever || pod.RestartPolicy == corev1.RestartPolicyOnFailure
	var stay []corev1.Container
	at := 0
	for i := range pod.Containers {
		beside := &pod.Containers[i]
		own := beside.RestartPolicy
		switch {
		case i == application:
			at = len(stay)
			stay = append(stay, *beside)
		case own == nil && ends, own != nil && *own != corev1.ContainerRestartPolicyAlways:
			stay = append(stay, *beside)
		default:
			withoutProbes(beside) // a startup probe may wait for the application
			beside.RestartPolicy, beside.RestartPolicyRules = new(corev1.ContainerRestartPolicyAlways), nil
			pod.InitContainers = append(pod.InitContainers, *beside)
			names = append(names, beside.Name)
		}
	}
	pod.Containers = stay
	return &stay[at], names
}

func withoutProbes(c *corev1.Container) {
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
}

// sharesCPUs says why the kubelet's CPU manager would give the application no CPUs for
// itself, which only pods of the QoS class Guaranteed get; empty where it would.
func sharesCPUs(pod *corev1.PodSpec) string {
	const consequence = "with --cpu-manager-policy=static the application gets no CPUs of its own"
	if pod.Resources != nil {
		return "the pod itself has resources: " + consequence + ": give them to its containers"
	}
	var names []string
	all := slices.Concat(pod.InitContainers, pod.Containers)
	for i := range all {
		c := &all[i]
		if !fixed(&c.Resources, corev1.ResourceCPU) || !fixed(&c.Resources, corev1.ResourceMemory) {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the pod is not of the QoS class Guaranteed: %s: give limits of CPU and memory, and no lower requests, to %s",
		consequence, strings.Join(names, ", "))
}

// fixed reports whether a resource has a limit, and no other request.
func fixed(r *corev1.ResourceRequirements, name corev1.ResourceName) bool {
	limit := r.Limits[name]
	request, requested := r.Requests[name]
	return !limit.IsZero() && (!requested || request.Cmp(limit) == 0)
}

// enoughCPUs wants room for the application and for an interferer beside it,
// on CPUs that the kubelet's CPU manager gives to this container alone.
func enoughCPUs(c *corev1.Container) error {
	cpus := c.Resources.Limits.Cpu()
	request, requested := c.Resources.Requests[corev1.ResourceCPU]
	switch {
	case cpus.IsZero():
		return errors.New("the container has no CPU limit: give it as many whole CPUs as the application uses, and as many again for the interferer")
	case cpus.MilliValue() < 2000 || cpus.MilliValue()%1000 != 0:
		return fmt.Errorf("the container is limited to %s CPUs: want whole ones, two or more: those of the application, and as many again for the interferer", cpus)
	case requested && request.Cmp(*cpus) != 0:
		return fmt.Errorf("the container requests %s of its %s CPUs: want both the same, so that they are its own", request.String(), cpus)
	}
	return nil
}

// interfererMemory is what the interferer's buffers and what is free beside them take
// on a machine with a last-level cache of 32 MiB: see interferer.DefaultMemoryCap.
const interfererMemory = 4 * interferer.CacheMultiple * 32 << 20

// enoughMemory wants room for the application and for an interferer beside it, where
// the container's memory is limited.
func enoughMemory(c *corev1.Container) error {
	limit := c.Resources.Limits.Memory()
	if limit.IsZero() {
		return nil
	}
	own := interfererMemory / 4
	if request := c.Resources.Requests.Memory(); !request.IsZero() && request.Cmp(*limit) < 0 {
		own = int(request.Value())
	}
	if least := int64(own) + interfererMemory; limit.Value() < least {
		return fmt.Errorf("the container is limited to %s of memory: want %d MiB or more: that of the application, and 32 times the last-level cache for the interferer, 1 GiB for 32 MiB",
			limit, (least+1<<20-1)>>20)
	}
	return nil
}

func scratch(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// jobName fits the pods' names and labels.
func jobName(application, node string) string {
	name := "onboard-" + strings.ReplaceAll(application+"-"+node, ".", "-")
	return strings.Trim(name[:min(len(name), 52)], "-")
}

// writeJob writes the Job with instructions. container is the application's, and beside are
// the sidecars that were containers.
func writeJob(job *batchv1.Job, r jobRequest, container string, beside []string) ([]byte, error) {
	text, err := yaml.Marshal(job)
	if err != nil {
		return nil, err
	}
	var clean bytes.Buffer
	fmt.Fprintf(&clean, `# Onboards %[1]s on node %[2]s, in the namespace that it is applied to:
#
#   kubectl cordon %[2]s        # and drain it, so that nobody else is measured
#   kubectl create serviceaccount %[3]s
#   kubectl create clusterrolebinding %[3]s --clusterrole bandmate-profile-editor --serviceaccount NAMESPACE:%[3]s
#   kubectl apply -f THIS-FILE
#   kubectl wait --for=jsonpath='{.status.conditions}' --timeout=121m job/%[4]s   # it completed or failed
#   kubectl get pods -l job-name=%[4]s
#   kubectl logs job/%[4]s -c %[5]s
#   kubectl uncordon %[2]s
#   kubectl get applicationprofiles
#
# It measures the machine first, unless the cluster has a profile of such a machine.
# The node must have the CPUs free that the container asks for, or the pod fails as
# OutOfcpu or UnexpectedAdmissionError. The kubelet of the node should run with
# --cpu-manager-policy=static, which keeps at least one CPU for the node.
`, r.application, r.node, r.serviceAccount, job.Name, container)
	if len(beside) > 0 {
		fmt.Fprintf(&clean, `#
# These containers run beside the application as sidecars without probes, so that the
# Job ends when the application has been measured: %s.
`, strings.Join(beside, ", "))
	}
	for line := range strings.Lines(string(text)) {
		if line != "status: {}\n" && !strings.HasSuffix(line, "creationTimestamp: null\n") {
			clean.WriteString(line)
		}
	}
	return clean.Bytes(), nil
}
