package v1alpha1

// SizeLatency is the median latency of a pointer chase in random order through a
// buffer.
type SizeLatency struct {
	// Bytes is the size of the buffer.
	//
	// +kubebuilder:validation:Minimum=1
	Bytes int64 `json:"bytes" want:"positive,ascending"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds" want:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty" want:"spread"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty" want:"count"`
}

// ContentionPoint is the median time until the last of several threads has read
// a line that another core has just modified.
type ContentionPoint struct {
	// Threads is the number of threads that read the line at once, excluding the
	// one that modified it.
	//
	// +kubebuilder:validation:Minimum=1
	Threads int `json:"threads" want:"positive,ascending"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds" want:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty" want:"spread"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty" want:"count"`
}

// LinesTransfer is the time of reading n lines that follow each other from the
// cache of another core: base + perLine·n.
type LinesTransfer struct {
	// Place is where the lines were: tile or remote, as in LineLatency.
	//
	// +kubebuilder:validation:Enum=tile;remote
	Place string `json:"place" want:"tile|remote"`
	// State is the state of the lines there: modified or exclusive.
	//
	// +kubebuilder:validation:Enum=modified;exclusive
	State string `json:"state" want:"modified|exclusive"`
	// Access is read (into registers) or copy (into a buffer of the reader).
	//
	// +kubebuilder:validation:Enum=read;copy
	Access string `json:"access" want:"read|copy"`
	// BaseNanoseconds is α, and PerLineNanoseconds β.
	BaseNanoseconds    float64 `json:"baseNanoseconds" want:"fitted"`
	PerLineNanoseconds float64 `json:"perLineNanoseconds" want:"fitted"`
	// BaseIntervalNanoseconds and PerLineIntervalNanoseconds are the half widths
	// of the 95% intervals of α and β; absent when not known.
	BaseIntervalNanoseconds    *float64 `json:"baseIntervalNanoseconds,omitempty" want:"fitted"`
	PerLineIntervalNanoseconds *float64 `json:"perLineIntervalNanoseconds,omitempty" want:"fitted"`
	// Points are the measurements, by ascending lines.
	//
	// +kubebuilder:validation:MaxItems=64
	Points []TransferPoint `json:"points,omitempty" len:"0,64"`
}

// TransferPoint is the median time of reading several lines.
type TransferPoint struct {
	// Lines is the number of cache lines read.
	//
	// +kubebuilder:validation:Minimum=1
	Lines int `json:"lines" want:"positive,ascending"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds" want:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty" want:"spread"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty" want:"count"`
}

// LoadedLatency is the median latency of memory while other threads stream.
type LoadedLatency struct {
	// StreamingThreads is the number of threads that generate the load.
	//
	// +kubebuilder:validation:Minimum=1
	StreamingThreads int `json:"streamingThreads" want:"positive"`
	// ReadShare is that of the load.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	ReadShare float64 `json:"readShare" want:"share"`
	// Level is the load asked for ÷ the unpaced bandwidth of the streaming threads
	// alone; 1 is unpaced.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	Level float64 `json:"level" want:"part"`
	// BytesPerSecond is the traffic of the load while the latency was measured.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	BytesPerSecond float64 `json:"bytesPerSecond" want:"rate"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds" want:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty" want:"spread"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty" want:"count"`
}
