package v1alpha1

// Labels and annotations that relate objects of a cluster to profiles. Slurm's
// features and comments use the same words.
const (
	// ApplicationLabel, on a pod, names its application. On an ApplicationProfile
	// it names the application if the profile has another name, because profiles of
	// one application on several machines need different names.
	ApplicationLabel = Group + "/application"
	// MachineLabel, on a node, names the MachineProfile of its kind.
	MachineLabel = Group + "/machine"
	// MemoryDomainLabel, on a node, names its memory domain: nodes with the same
	// value share memory. Without it a node is a domain of its own.
	MemoryDomainLabel = Group + "/memory-domain"
	// NUMANodeAnnotation, on a pod, is the number of the NUMA node to which the pod
	// is bound; a label of this name has the same meaning.
	NUMANodeAnnotation = Group + "/numa-node"
	// MaxSlowdownAnnotation, on a pod, is the highest slowdown that it tolerates: a
	// decimal number of 1 or more, as "1.15".
	MaxSlowdownAnnotation = Group + "/max-slowdown"
	// LoadAnnotation, on a pod of a service, is the load that the pod is to take: requests
	// per second, as "20000".
	LoadAnnotation = Group + "/load"
	// MaxP99Annotation, on a pod of a service, is the highest 99th percentile of the
	// latency that it tolerates: a duration, as "2ms".
	MaxP99Annotation = Group + "/max-p99"
	// MeasuredTrafficAnnotation, on a node, is the traffic that the node agent
	// measured, a MeasuredTraffic as JSON.
	MeasuredTrafficAnnotation = Group + "/measured-traffic"
	// ExclusiveCPUsAnnotation, on a node, says which pods have CPUs that no other has, as
	// the node agent read it: kernel CPU lists by the UID of the pod, as JSON.
	ExclusiveCPUsAnnotation = Group + "/exclusive-cpus"
	// objectAnnotation is the name that an ApplicationProfile has in its cluster, until the
	// profile is encoded.
	objectAnnotation = Group + "/object"
)

// NameByApplication names a profile after its application and drops the label with the
// application's name. ObjectOf still returns the name that it had.
func NameByApplication(p *ApplicationProfile) {
	name := ApplicationOf(p)
	if p.Name != name {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[objectAnnotation] = p.Name
	}
	p.Name = name
	delete(p.Labels, ApplicationLabel)
}

// ForgetObject drops what NameByApplication keeps of the object's name.
func ForgetObject(p *ApplicationProfile) { delete(p.Annotations, objectAnnotation) }

// ObjectOf returns the name that a profile has, or had before NameByApplication.
func ObjectOf(p *ApplicationProfile) string {
	if name := p.Annotations[objectAnnotation]; name != "" {
		return name
	}
	return p.Name
}

// ApplicationOf returns the name of a profile's application: its ApplicationLabel,
// or else its own name.
func ApplicationOf(p *ApplicationProfile) string {
	if name := p.Labels[ApplicationLabel]; name != "" {
		return name
	}
	return p.Name
}
