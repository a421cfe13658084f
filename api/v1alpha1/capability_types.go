package v1alpha1

// Capability has the latencies and bandwidths of the caches and the memory of a
// machine: the parameters of the models of Ramos and Hoefler, "Capability Models
// for Manycore Memory Systems" (2017).
type Capability struct {
	// Source is measured, or the origin of imported values.
	//
	// +kubebuilder:validation:MinLength=1
	Source string `json:"source" want:"source"`
	// CoresPerTile is the number of cores that share the cache behind the place
	// tile; absent when no cache is shared below the last level, or not known.
	CoresPerTile int `json:"coresPerTile,omitempty" want:"count"`
	// Level1Bytes and Level2Bytes are the sizes of one cache of these levels.
	Level1Bytes int64 `json:"level1Bytes,omitempty" want:"bytes"`
	Level2Bytes int64 `json:"level2Bytes,omitempty" want:"bytes"`
	// Latencies are those of one cache line.
	//
	// +kubebuilder:validation:MaxItems=256
	Latencies []LineLatency `json:"latencies,omitempty" len:"0,256"`
	// LatenciesBySize are those of a line in buffers of ascending size, from the
	// nearest cache to memory.
	//
	// +kubebuilder:validation:MaxItems=64
	LatenciesBySize []SizeLatency `json:"latenciesBySize,omitempty" len:"0,64"`
	// Contention is the latency of a line that several threads read at once;
	// absent when too few numbers of threads were measured to fit it.
	Contention *ContentionCost `json:"contention,omitempty"`
	// ContentionPoints are the measurements that Contention is fitted to, by
	// ascending threads.
	//
	// +kubebuilder:validation:MaxItems=256
	ContentionPoints []ContentionPoint `json:"contentionPoints,omitempty" len:"0,256"`
	// Transfers are those of several lines from the cache of another core.
	//
	// +kubebuilder:validation:MaxItems=64
	Transfers []LinesTransfer `json:"transfers,omitempty" len:"0,64"`
	// Bandwidths are those of sequential accesses.
	//
	// +kubebuilder:validation:MaxItems=1024
	Bandwidths []AccessBandwidth `json:"bandwidths,omitempty" len:"0,1024"`
	// LoadedLatencies are those of memory while other threads stream.
	//
	// +kubebuilder:validation:MaxItems=256
	LoadedLatencies []LoadedLatency `json:"loadedLatencies,omitempty" len:"0,256"`
	// Warnings name doubtful and missing values.
	//
	// +kubebuilder:validation:MaxItems=100
	Warnings []string `json:"warnings,omitempty" len:"0,100"`
}

// LineLatency is the median latency of one cache line from one place.
type LineLatency struct {
	// Place is where the line was: level1 and level2 are the caches of the core
	// itself, level3 the one behind them, tile the cache it shares with a
	// neighbor, remote the cache of another tile or core, memory the memory.
	//
	// +kubebuilder:validation:Enum=level1;level2;level3;tile;remote;memory
	Place string `json:"place" want:"level1|level2|level3|tile|remote|memory"`
	// State is the state of the line there: modified, exclusive or shared (which
	// includes forward); invalid if that core evicted the line to memory; empty
	// where the state makes no difference.
	//
	// +kubebuilder:validation:Enum=modified;exclusive;shared;invalid
	State string `json:"state,omitempty" want:"|modified|exclusive|shared|invalid"`
	// Memory is the kind of memory, as DRAM; empty where there is one.
	Memory string `json:"memory,omitempty"`
	// CPUNode and MemoryNode are the NUMA nodes of the core and of the line;
	// absent where it makes no difference.
	CPUNode    *int `json:"cpuNode,omitempty" want:"count"`
	MemoryNode *int `json:"memoryNode,omitempty" want:"count"`
	// Nanoseconds is the median; of a range over places, the middle.
	Nanoseconds float64 `json:"nanoseconds" want:"nanoseconds"`
	// LowNanoseconds and HighNanoseconds are the range over places; absent
	// where all are alike.
	LowNanoseconds  *float64 `json:"lowNanoseconds,omitempty" want:"nanoseconds"`
	HighNanoseconds *float64 `json:"highNanoseconds,omitempty" want:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty" want:"spread"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty" want:"count"`
}

// ContentionCost is the latency of a line that N threads read at once:
// base + perThread·N.
type ContentionCost struct {
	// BaseNanoseconds is α.
	BaseNanoseconds float64 `json:"baseNanoseconds" want:"fitted"`
	// PerThreadNanoseconds is β.
	PerThreadNanoseconds float64 `json:"perThreadNanoseconds" want:"fitted"`
	// BaseIntervalNanoseconds and PerThreadIntervalNanoseconds are the half
	// widths of the 95% intervals of α and β; absent when not known.
	BaseIntervalNanoseconds      *float64 `json:"baseIntervalNanoseconds,omitempty" want:"fitted"`
	PerThreadIntervalNanoseconds *float64 `json:"perThreadIntervalNanoseconds,omitempty" want:"fitted"`
}

// AccessBandwidth is the median bandwidth of one kind of access.
type AccessBandwidth struct {
	// Access is copy (a[i] = b[i]), read, write or triad (a[i] = b[i] + s·c[i]).
	//
	// +kubebuilder:validation:Enum=copy;read;write;triad
	Access string `json:"access" want:"copy|read|write|triad"`
	// NonTemporal is true where stores went around the caches.
	NonTemporal bool `json:"nonTemporal,omitempty"`
	// Memory is the kind of memory, as DRAM; empty where there is one.
	Memory string `json:"memory,omitempty"`
	// CPUNode and MemoryNode are the NUMA nodes of all threads and of their
	// data; absent where threads run on several nodes with their data beside
	// them, or there is one.
	CPUNode    *int `json:"cpuNode,omitempty" want:"count"`
	MemoryNode *int `json:"memoryNode,omitempty" want:"count"`
	// Threads is the number of threads, together; absent for the highest bandwidth
	// over numbers of threads.
	Threads int `json:"threads,omitempty" want:"count"`
	// BytesPerSecond counts the bytes that the program reads and writes.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	BytesPerSecond float64 `json:"bytesPerSecond" want:"rate"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty" want:"spread"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty" want:"count"`
}
