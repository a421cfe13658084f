package v1alpha1

// Labels and annotations by which objects of a cluster and profiles find each
// other. Slurm's features and comments use the same words.
const (
	// ApplicationLabel, on a pod, names its application. On an
	// ApplicationProfile it names the application that the profile is of, where
	// that is not the profile's own name: profiles of one application on several
	// machines need several names.
	ApplicationLabel = Group + "/application"
	// MachineLabel, on a node, names the MachineProfile of its kind.
	MachineLabel = Group + "/machine"
	// MemoryDomainLabel, on a node, names the memory domain that it belongs to:
	// nodes with the same value share memory. Without it a node is a domain of
	// its own.
	MemoryDomainLabel = Group + "/memory-domain"
	// NUMANodeAnnotation, on a pod, is the number of the NUMA node whose CPUs
	// and memory the pod keeps to; a label of this name says the same.
	NUMANodeAnnotation = Group + "/numa-node"
	// MaxSlowdownAnnotation, on a pod, is the slowdown it may suffer at most:
	// a decimal number of 1 or more, as "1.15".
	MaxSlowdownAnnotation = Group + "/max-slowdown"
	// MeasuredTrafficAnnotation, on a node, is the traffic that the node agent
	// measured, a MeasuredTraffic as JSON.
	MeasuredTrafficAnnotation = Group + "/measured-traffic"
)

// ApplicationOf returns the name of the application that a profile is of: its
// ApplicationLabel, else its own name.
func ApplicationOf(p *ApplicationProfile) string {
	if name := p.Labels[ApplicationLabel]; name != "" {
		return name
	}
	return p.Name
}
