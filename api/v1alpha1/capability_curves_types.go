package v1alpha1

// SizeLatency is the median latency of a line in a buffer that is chased
// through in random order.
type SizeLatency struct {
	// Bytes is the size of the buffer.
	//
	// +kubebuilder:validation:Minimum=1
	Bytes int64 `json:"bytes"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty"`
}

// ContentionPoint is the median time until the last of several threads has read
// a line that another core has just modified.
type ContentionPoint struct {
	// Threads read the line at once; the one that modified it is not counted.
	//
	// +kubebuilder:validation:Minimum=1
	Threads int `json:"threads"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty"`
}

// LinesTransfer is the time of reading n lines that follow each other from the
// cache of another core: base + perLine·n.
type LinesTransfer struct {
	// Place is where the lines were: tile or remote, as in LineLatency.
	//
	// +kubebuilder:validation:Enum=tile;remote
	Place string `json:"place"`
	// State is the state of the lines there: modified or exclusive.
	//
	// +kubebuilder:validation:Enum=modified;exclusive
	State string `json:"state"`
	// Access is read (into registers) or copy (into a buffer of the reader).
	//
	// +kubebuilder:validation:Enum=read;copy
	Access string `json:"access"`
	// BaseNanoseconds is α, and PerLineNanoseconds β.
	BaseNanoseconds    float64 `json:"baseNanoseconds"`
	PerLineNanoseconds float64 `json:"perLineNanoseconds"`
	// BaseIntervalNanoseconds and PerLineIntervalNanoseconds are the half widths
	// of the 95% intervals of α and β; absent when not known.
	BaseIntervalNanoseconds    *float64 `json:"baseIntervalNanoseconds,omitempty"`
	PerLineIntervalNanoseconds *float64 `json:"perLineIntervalNanoseconds,omitempty"`
	// Points are the measurements, by ascending lines.
	//
	// +kubebuilder:validation:MaxItems=64
	Points []TransferPoint `json:"points,omitempty"`
}

// TransferPoint is the median time of reading so many lines.
type TransferPoint struct {
	// Lines is how many cache lines are read.
	//
	// +kubebuilder:validation:Minimum=1
	Lines int `json:"lines"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty"`
}

// LoadedLatency is the median latency of memory while other threads stream.
type LoadedLatency struct {
	// StreamingThreads make the load.
	//
	// +kubebuilder:validation:Minimum=1
	StreamingThreads int `json:"streamingThreads"`
	// ReadShare is that of the load.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	ReadShare float64 `json:"readShare"`
	// Level is the load that was asked for ÷ what the streaming threads reach
	// alone, unpaced; 1 is unpaced.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	Level float64 `json:"level"`
	// BytesPerSecond is the traffic of the load while the latency was measured.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	BytesPerSecond float64 `json:"bytesPerSecond"`
	// Nanoseconds is the median.
	Nanoseconds float64 `json:"nanoseconds"`
	// RelativeInterval is the half width of the 95% interval of the median ÷ the
	// median; absent when not known.
	RelativeInterval *float64 `json:"relativeInterval,omitempty"`
	// Repeats is the number of measurements; absent when not known.
	Repeats int `json:"repeats,omitempty"`
}
