package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MachineProfile holds the measurements of a machine: the bandwidth that its memory
// sustains at each read share, and the speed of probes beside known pressure.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=bandmate
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.spec.cpuModel`
// +kubebuilder:printcolumn:name="CPUs",type=integer,JSONPath=`.spec.cpus`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.spec.numaNodes`,description="NUMA nodes"
// +kubebuilder:printcolumn:name="Sustained",type=string,JSONPath=`.summary.sustained`,description="Highest bandwidth of the interferer alone"
// +kubebuilder:printcolumn:name="Virtual",type=boolean,JSONPath=`.spec.virtualMachine`,priority=1
// +kubebuilder:printcolumn:name="Measured",type=date,JSONPath=`.spec.measurement.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MachineProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MachineProfileSpec `json:"spec"`
	// Summary repeats figures of the specification for people, as kubectl
	// lists them. Encode derives it; Decode ignores it.
	Summary *MachineSummary `json:"summary,omitempty"`
}

// MachineProfileSpec holds the measurements of a MachineProfile.
type MachineProfileSpec struct {
	// CPUModel is the processor as the kernel names it.
	CPUModel string `json:"cpuModel,omitempty"`
	// Sockets, NUMANodes and CPUs are the numbers of those online.
	Sockets   int `json:"sockets" want:"positive"`
	NUMANodes int `json:"numaNodes" want:"positive"`
	CPUs      int `json:"cpus" want:"positive"`
	// LastLevelCacheBytes is the size of one last-level cache; absent when unknown.
	LastLevelCacheBytes int64 `json:"lastLevelCacheBytes,omitempty" want:"bytes"`
	// SharedCache is a last-level cache that several cores share; absent where each
	// has its own, or that is unknown.
	SharedCache *SharedCache `json:"sharedCache,omitempty"`
	// MemoryBytes is the memory of all nodes.
	MemoryBytes int64 `json:"memoryBytes,omitempty" want:"bytes"`
	// VirtualMachine is true under a hypervisor.
	VirtualMachine bool `json:"virtualMachine,omitempty"`
	// Measurement records the conditions, with the CPUs of the interferer and the
	// probes.
	Measurement Measurement `json:"measurement"`
	// Link is how co-runners reach the memory of a target: none (as near as the
	// target), own (each over a link of its own) or shared (all over one link, as from
	// the other socket of two); absent when unknown.
	//
	// +kubebuilder:validation:Enum=none;own;shared
	Link string `json:"link,omitempty" want:"|none|own|shared"`
	// Sustained is the highest bandwidth the interferer reaches alone.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Sustained []SustainedBandwidth `json:"sustained" len:"1,256"`
	// ProbeMap is the speed of each probe beside a known interferer: the
	// calibration of the probe source. Empty with counters.
	//
	// +kubebuilder:validation:MaxItems=4096
	ProbeMap []ProbePoint `json:"probeMap,omitempty" len:"0,4096"`
	// Capability has latencies and bandwidths of caches and memory; absent when not
	// measured.
	Capability *Capability `json:"capability,omitempty"`
	// BusSharing models how computation and communication share the memory bus;
	// absent when not measured.
	BusSharing *BusSharing `json:"busSharing,omitempty"`
	// Network is the network card and the model of its sharing; absent when not
	// known.
	Network *Network `json:"network,omitempty"`
	// Warnings name the doubtful values of this profile.
	//
	// +kubebuilder:validation:MaxItems=100
	Warnings []string `json:"warnings,omitempty" len:"0,100"`
}

// SharedCache is a last-level cache, of which there may be several alike.
type SharedCache struct {
	// Bytes is the size of one.
	//
	// +kubebuilder:validation:Minimum=1
	Bytes int64 `json:"bytes" want:"positive"`
	// CPUs are the kernel CPU lists of those that share one, in order; empty when
	// unknown.
	//
	// +kubebuilder:validation:MaxItems=4096
	CPUs []string `json:"cpus,omitempty" want:"cpus" len:"0,4096"`
}

// The values of MachineProfileSpec.Link.
const (
	LinkNone   = "none"
	LinkOwn    = "own"
	LinkShared = "shared"
)

// CorunnerLink returns Link, or LinkNone where it is absent and there is one socket with
// one NUMA node, on which nobody is farther from the memory.
func (s *MachineProfileSpec) CorunnerLink() string {
	if s.Link == "" && s.Sockets == 1 && s.NUMANodes == 1 {
		return LinkNone
	}
	return s.Link
}

// SustainedBandwidth is the interferer's unpaced maximum at one read share.
type SustainedBandwidth struct {
	// ReadShare is the interferer's.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	ReadShare float64 `json:"readShare" want:"share"`
	// Pattern is the order of lines: sequential (default) or random.
	//
	// +kubebuilder:validation:Enum=sequential;random
	Pattern string `json:"pattern,omitempty" want:"|sequential|random"`
	// BytesPerSecond is the median over the repeats.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	BytesPerSecond float64 `json:"bytesPerSecond" want:"rate"`
	// RelativeSpread is the standard deviation ÷ the median over the repeats.
	RelativeSpread *float64 `json:"relativeSpread,omitempty" want:"spread"`
	// Repeats is the number of runs kept.
	//
	// +kubebuilder:validation:Minimum=1
	Repeats int `json:"repeats" want:"positive"`
}

// ProbePoint is one probe beside one setting of the interferer.
type ProbePoint struct {
	// Probe is the unpaced stream whose slowdown is observed: reader or
	// modifier.
	Probe string `json:"probe" want:"reader|modifier"`
	// Regime is the placement class the point holds for: same-core,
	// same-complex or cross-complex; empty when not known.
	Regime string `json:"regime,omitempty"`
	// ReadShare, Level and InterfererBytesPerSecond are the interferer's
	// setting, the last one as reached alone.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	ReadShare float64 `json:"readShare" want:"share"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	Level float64 `json:"level" want:"part"`
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	InterfererBytesPerSecond float64 `json:"interfererBytesPerSecond" want:"rate"`
	// AchievedBytesPerSecond is the bandwidth of the interferer beside the probe.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	AchievedBytesPerSecond float64 `json:"achievedBytesPerSecond" want:"traffic"`
	// RelativeSpeed is the probe's bandwidth beside the interferer ÷ alone.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1.5
	RelativeSpeed float64 `json:"relativeSpeed" want:"speed"`
	// Spread is the standard deviation of relativeSpeed over the repeats.
	Spread *float64 `json:"spread,omitempty" want:"spread"`
	// Repeats is the number of readings kept.
	//
	// +kubebuilder:validation:Minimum=1
	Repeats int `json:"repeats" want:"positive"`
}

// MachineProfileList is a list as the Kubernetes API returns it.
//
// +kubebuilder:object:root=true
type MachineProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineProfile `json:"items"`
}
