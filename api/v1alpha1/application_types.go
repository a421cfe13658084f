package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// APIVersion and the kinds name the objects of this package in a file.
const (
	APIVersion             = "bandmate.dev/v1alpha1"
	KindApplicationProfile = "ApplicationProfile"
	KindMachineProfile     = "MachineProfile"
)

// ApplicationProfile holds the measurements of one application on one machine:
// the traffic it causes alone (contentiousness) and its slowdown beside an
// interferer (its curve family).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=bandmate
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.metadata.labels.bandmate\.dev/application`,description="Application, where it is not the name"
// +kubebuilder:printcolumn:name="Bandwidth",type=string,JSONPath=`.summary.bandwidth`
// +kubebuilder:printcolumn:name="Reads",type=string,JSONPath=`.summary.readShare`
// +kubebuilder:printcolumn:name="Worst",type=string,JSONPath=`.summary.worstSlowdown`,description="Highest slowdown measured beside the interferer"
// +kubebuilder:printcolumn:name="Machine",type=string,JSONPath=`.spec.machine.name`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.contentiousness.source`,priority=1
// +kubebuilder:printcolumn:name="Measured",type=date,JSONPath=`.spec.measurement.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ApplicationProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ApplicationProfileSpec `json:"spec"`
	// Summary repeats figures of the specification for people, as kubectl
	// lists them. Encode derives it; Decode ignores it.
	Summary *ApplicationSummary `json:"summary,omitempty"`
}

// ApplicationProfileSpec holds the measurements of an ApplicationProfile.
type ApplicationProfileSpec struct {
	// Command is the program and its arguments; empty when imported.
	//
	// +kubebuilder:validation:MaxItems=1024
	Command []string `json:"command,omitempty" want:"argument" len:"0,1024"`
	// Machine is where the application was measured.
	Machine MachineReference `json:"machine"`
	// Measurement records the conditions of the experiment.
	Measurement Measurement `json:"measurement"`
	// Solo is the application's time without memory traffic beside it.
	Solo Timing `json:"solo"`
	// Contentiousness is the traffic of the application alone.
	Contentiousness Contentiousness `json:"contentiousness"`
	// Curves are the sensitivity curves, one per read share and access
	// pattern of the interferer.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Curves []SensitivityCurve `json:"curves" len:"1,64"`
	// Cache is the application beside an interferer that keeps a working set in the
	// last-level cache that both share; absent where no cache is shared, or it was not
	// measured.
	//
	// +kubebuilder:validation:MaxItems=256
	Cache []CachePoint `json:"cache,omitempty" len:"0,256"`
	// CacheOccupancyBytes is what the application holds of the last-level cache alone;
	// absent where that is not counted.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	CacheOccupancyBytes *float64 `json:"cacheOccupancyBytes,omitempty" want:"occupancy"`
	// Distance is the difference between the application as a target and as a
	// co-runner; absent where both are equally near the memory, or were not measured.
	Distance *Distance `json:"distance,omitempty"`
	// Communication is the exchange of the application over the network; absent
	// when not known.
	Communication *Communication `json:"communication,omitempty"`
	// Service holds the load sweep of an application that answers requests; absent for
	// one that does fixed work.
	Service *Service `json:"service,omitempty"`
	// Transferred records the transfer of the profile from another machine; absent
	// when it was measured on this one.
	Transferred *Transfer `json:"transferred,omitempty"`
	// Phases divide the solo run into parts of steady traffic.
	//
	// +kubebuilder:validation:MaxItems=64
	Phases []Phase `json:"phases,omitempty" len:"0,64"`
	// Warnings name the doubtful values of this profile.
	//
	// +kubebuilder:validation:MaxItems=100
	Warnings []string `json:"warnings,omitempty" len:"0,100"`
}

// MachineReference names a machine and repeats its processor.
type MachineReference struct {
	// Name is the metadata.name of the MachineProfile.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="this name holds the profile of another machine: use bandmate apply, or another metadata.name with the label bandmate.dev/application: NAME"
	Name string `json:"name" want:"machine"`
	// CPUModel is the processor as the kernel names it.
	CPUModel string `json:"cpuModel,omitempty"`
}

// Measurement records the conditions of an experiment.
type Measurement struct {
	// Time is when the experiment ended.
	Time metav1.Time `json:"time,omitempty,omitzero"`
	// BandmateVersion is the version that wrote the profile.
	BandmateVersion string `json:"bandmateVersion,omitempty"`
	// TargetCPUs is the kernel CPU list the application ran on, as "0-7".
	TargetCPUs string `json:"targetCPUs,omitempty" want:"cpus"`
	// InterfererCPUs is the kernel CPU list of the interferer.
	InterfererCPUs string `json:"interfererCPUs,omitempty" want:"cpus"`
	// MemoryNode is the NUMA node both were bound to; absent when unbound.
	MemoryNode *int `json:"memoryNode,omitempty" want:"count"`
	// SharedLastLevelCache is true when application and interferer shared a
	// last-level cache: the curves then hold cache and bandwidth contention.
	// Absent when it could not be read.
	SharedLastLevelCache *bool `json:"sharedLastLevelCache,omitempty"`
	// Regime is the placement of the CPUs the profile holds for.
	Regime *Regime `json:"regime,omitempty"`
	// DroppedSamples counts runs left out because the regime changed or was
	// another one.
	DroppedSamples int `json:"droppedSamples,omitempty" want:"count"`
	// Ticks names the count of the application's work whose rates were compared in
	// slices of milliseconds, as "instructions" or "function libz.so.1:deflate";
	// absent where whole runs were timed.
	//
	// +kubebuilder:validation:MaxLength=1024
	Ticks string `json:"ticks,omitempty" want:"line"`
	// Control is a measurement with nothing beside the application, made like
	// the others, which has to find 1; absent where whole runs were timed.
	Control *Control `json:"control,omitempty"`
	// Progress is the regular expression whose matches in the application's output
	// measured its progress; absent where whole runs were timed.
	//
	// +kubebuilder:validation:MaxLength=1024
	Progress string `json:"progress,omitempty" want:"line"`
	// Interferers is the number of interferers, 2 to 64, and the highest level;
	// absent for one. InterfererCPUs are divided equally among them.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Interferers int `json:"interferers,omitempty" want:"interferers"`
}

// Control is the result of a measurement of which the truth is known: 1.
type Control struct {
	// NormalizedPerformance is what was measured, above zero.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1.5
	NormalizedPerformance float64 `json:"normalizedPerformance" want:"performance"`
	// StandardError is that of NormalizedPerformance.
	//
	// +kubebuilder:validation:Minimum=0
	StandardError float64 `json:"standardError" want:"spread"`
}

// Regime is the distance of the application's and the interferer's CPUs, by the
// ping-pong latency of a cache line.
type Regime struct {
	// Name is the class: same-core, same-complex or cross-complex.
	Name string `json:"name" want:"same-core|same-complex|cross-complex"`
	// RoundTripNanoseconds is the median round trip.
	RoundTripNanoseconds float64 `json:"roundTripNanoseconds" want:"nanoseconds"`
}

// Timing is a repeated duration.
type Timing struct {
	// Seconds is the median wall time, above zero.
	Seconds float64 `json:"seconds" want:"seconds"`
	// RelativeSpread is the standard deviation ÷ the median; absent with
	// fewer than two repeats.
	RelativeSpread *float64 `json:"relativeSpread,omitempty" want:"spread"`
	// Repeats is the number of runs kept, at least one.
	//
	// +kubebuilder:validation:Minimum=1
	Repeats int `json:"repeats" want:"positive"`
}

// Contentiousness is the bandwidth an application causes when alone
// (Zacarias et al. 2020, eq. 1–2).
type Contentiousness struct {
	// ReadBytesPerSecond and WriteBytesPerSecond are at the memory controller.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	ReadBytesPerSecond float64 `json:"readBytesPerSecond" want:"traffic"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	WriteBytesPerSecond float64 `json:"writeBytesPerSecond" want:"traffic"`
	// Source is the source of the measurement: a counter source such as imc, probe
	// for an estimate without counters, or imported.
	Source string `json:"source" want:"source"`
	// RelativeUncertainty is how far the 90% interval of the total bandwidth reaches
	// from it ÷ the total: above 1 where the traffic may be zero; absent when unknown.
	RelativeUncertainty *float64 `json:"relativeUncertainty,omitempty" want:"spread"`
	// ReadShareUncertainty is the half width of the 90% interval of the read
	// share; absent when unknown.
	ReadShareUncertainty *float64 `json:"readShareUncertainty,omitempty" want:"share"`
	// Timeline is the traffic over the solo run, in order, when known.
	//
	// +kubebuilder:validation:MaxItems=10000
	Timeline []TrafficSample `json:"timeline,omitempty" len:"0,10000"`
}

// TrafficSample is the mean traffic of an interval.
type TrafficSample struct {
	// Seconds is the end of the interval since the start of the run; the
	// interval starts where the previous one ends.
	Seconds float64 `json:"seconds" want:"seconds,ascending"`
	// ReadBytesPerSecond and WriteBytesPerSecond are the means of the interval.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	ReadBytesPerSecond float64 `json:"readBytesPerSecond" want:"traffic"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	WriteBytesPerSecond float64 `json:"writeBytesPerSecond" want:"traffic"`
}

// Distance is the difference between an application alone as a target, where its
// curves were measured, and as a co-runner, farther from the memory: on the other socket
// of two, as in Zacarias et al. 2020, or on another NUMA node. With it,
// spec.contentiousness, its timeline and spec.phases are those of the co-runner;
// spec.solo is the time of the target.
type Distance struct {
	// CorunnerCPUs is the kernel CPU list that the application ran on as a co-runner.
	CorunnerCPUs string `json:"corunnerCPUs,omitempty" want:"cpus"`
	// CorunnerSolo is the application's time alone as a co-runner.
	CorunnerSolo Timing `json:"corunnerSolo"`
	// TargetReadBytesPerSecond and TargetWriteBytesPerSecond are the traffic alone as
	// a target.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	TargetReadBytesPerSecond float64 `json:"targetReadBytesPerSecond" want:"traffic"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	TargetWriteBytesPerSecond float64 `json:"targetWriteBytesPerSecond" want:"traffic"`
}

// SensitivityCurve is normalized performance against the interferer's
// bandwidth, at one read share and one access pattern.
type SensitivityCurve struct {
	// ReadShare is the interferer's, 0 to 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	ReadShare float64 `json:"readShare" want:"share"`
	// Pattern is the interferer's order of lines: sequential (default) or random.
	//
	// +kubebuilder:validation:Enum=sequential;random
	Pattern string `json:"pattern,omitempty" want:"|sequential|random"`
	// Points are ordered by interferer bandwidth. Performance 1 at no
	// pressure is implied, not listed.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Points []CurvePoint `json:"points" len:"1,128"`
}

// CurvePoint is one setting of the interferer beside the application.
type CurvePoint struct {
	// Level is the requested share of the bandwidth that one interferer
	// sustains alone, above 0 to 64; 1 is one interferer unpaced, more are
	// several.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=64
	Level float64 `json:"level" want:"level,unique"`
	// InterfererBytesPerSecond is the bandwidth of the interferer alone at this
	// level: the x axis of the curve.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	InterfererBytesPerSecond float64 `json:"interfererBytesPerSecond" want:"rate,ascending"`
	// AchievedBytesPerSecond is the bandwidth of the interferer beside the
	// application; absent when not recorded.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	AchievedBytesPerSecond *float64 `json:"achievedBytesPerSecond,omitempty" want:"traffic"`
	// TotalBytesPerSecond is the bandwidth of the application and the interferer
	// together at the memory controller; absent when not counted.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	TotalBytesPerSecond *float64 `json:"totalBytesPerSecond,omitempty" want:"traffic"`
	// NormalizedPerformance is solo time ÷ co-run time, above zero; noise may
	// lift it a little above one.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1.5
	NormalizedPerformance float64 `json:"normalizedPerformance" want:"performance"`
	// Repeats is the number of runs kept; 0 where the point is inferred.
	//
	// +kubebuilder:validation:Minimum=0
	Repeats int `json:"repeats" want:"count"`
	// Spread is the standard deviation of normalizedPerformance over the
	// repeats; absent with fewer than two. For an inferred point it is the
	// uncertainty of the inference.
	Spread *float64 `json:"spread,omitempty" want:"spread"`
	// Inferred says that adaptive onboarding computed the point from measured
	// ones.
	Inferred bool `json:"inferred,omitempty"`
}

// CachePoint is one setting of an interferer that touches the lines of a working set in
// random order and so keeps them in the cache (Eklov et al., Cache Pirate, ICPP 2011).
type CachePoint struct {
	// FootprintBytes is the size of the working set.
	//
	// +kubebuilder:validation:Minimum=1
	FootprintBytes int64 `json:"footprintBytes" want:"positive"`
	// ReadShare is the share of reads in the interferer's traffic where nothing hits,
	// 0.5 to 1: at 1 it loads only.
	//
	// +kubebuilder:validation:Minimum=0.5
	// +kubebuilder:validation:Maximum=1
	ReadShare float64 `json:"readShare" want:"half-reads"`
	// Level is the requested share of the highest rate of accesses, above 0 to 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	Level float64 `json:"level" want:"part"`
	// AccessedBytesPerSecond is the rate of the interferer's accesses alone, hits
	// included, in bytes of the lines that it touches.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e15
	AccessedBytesPerSecond float64 `json:"accessedBytesPerSecond" want:"accesses"`
	// AchievedBytesPerSecond is that rate beside the application.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e15
	AchievedBytesPerSecond float64 `json:"achievedBytesPerSecond" want:"accesses"`
	// TotalBytesPerSecond is the bandwidth of the application and the interferer
	// together at the memory controller; absent when not counted.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	TotalBytesPerSecond *float64 `json:"totalBytesPerSecond,omitempty" want:"traffic"`
	// NormalizedPerformance is solo time ÷ co-run time, above zero; noise may
	// lift it a little above one.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1.5
	NormalizedPerformance float64 `json:"normalizedPerformance" want:"performance"`
	// Repeats is the number of runs kept, at least one.
	//
	// +kubebuilder:validation:Minimum=1
	Repeats int `json:"repeats" want:"positive"`
	// Spread is the standard deviation of normalizedPerformance over the repeats;
	// absent with fewer than two.
	Spread *float64 `json:"spread,omitempty" want:"spread"`
	// OccupancyBytes is what the application holds of the cache beside the interferer;
	// absent where that is not counted.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	OccupancyBytes *float64 `json:"occupancyBytes,omitempty" want:"occupancy"`
}

// Phase is a part of the solo run with steady traffic.
type Phase struct {
	// TimeShare is the part of the solo time, above 0 to 1; the phases of an
	// application add up to 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	TimeShare float64 `json:"timeShare" want:"part"`
	// ReadBytesPerSecond and WriteBytesPerSecond are the means of the part.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	ReadBytesPerSecond float64 `json:"readBytesPerSecond" want:"traffic"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	WriteBytesPerSecond float64 `json:"writeBytesPerSecond" want:"traffic"`
}

// ApplicationProfileList is a list as the Kubernetes API returns it.
//
// +kubebuilder:object:root=true
type ApplicationProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ApplicationProfile `json:"items"`
}
