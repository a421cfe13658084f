package v1alpha1

// Service holds what was measured of an application that answers requests: how its
// latency grows with its load alone, and how much a neighbor stretches its service
// times at several loads. With it, spec.contentiousness and spec.curves are those at
// the highest entry of factors, and spec.solo is the time per request at saturation.
type Service struct {
	// Requests are those of the load, as URLs, or the command that made it.
	//
	// +kubebuilder:validation:MaxItems=64
	Requests []string `json:"requests,omitempty" want:"argument" len:"0,64"`
	// Loads is the load sweep alone, ordered by load.
	//
	// +kubebuilder:validation:MaxItems=64
	Loads []ServiceLoad `json:"loads,omitempty" len:"0,64"`
	// SaturationRequestsPerSecond is the highest rate of answers alone.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1e9
	SaturationRequestsPerSecond float64 `json:"saturationRequestsPerSecond" want:"requests"`
	// SaturationRelativeSpread is the standard deviation of
	// saturationRequestsPerSecond ÷ itself; absent when not known.
	SaturationRelativeSpread *float64 `json:"saturationRelativeSpread,omitempty" want:"spread"`
	// SaturationAtLeast says that the load generator, or the number of its connections,
	// was, or may have been, at its limit first, so that the service may do more than
	// saturationRequestsPerSecond.
	SaturationAtLeast bool `json:"saturationAtLeast,omitempty"`
	// Factors hold the performance beside the interferer at each load at which it was
	// measured, ordered by load.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Factors []ServiceFactors `json:"factors" len:"1,16"`
	// Shared says which CPUs server, load and interferer had to share, and what that
	// limits; empty where each had its own.
	//
	// +kubebuilder:validation:MaxLength=1024
	Shared string `json:"shared,omitempty" want:"line"`
}

// ServiceLoad is a service alone at one load with Poisson arrivals. Latencies count
// from the intended start of a request.
type ServiceLoad struct {
	// RequestsPerSecond is the rate of the arrivals.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1e9
	RequestsPerSecond float64 `json:"requestsPerSecond" want:"requests,ascending"`
	// P50Seconds is the median of the latency.
	P50Seconds float64 `json:"p50Seconds" want:"seconds"`
	// P90Seconds is the latency that 90% of the requests stay within.
	P90Seconds float64 `json:"p90Seconds" want:"seconds"`
	// P99Seconds is the latency that 99% of the requests stay within.
	P99Seconds float64 `json:"p99Seconds" want:"seconds"`
	// P999Seconds is the latency that 99.9% of the requests stay within.
	P999Seconds float64 `json:"p999Seconds" want:"seconds"`
	// P99RelativeSpread is the standard error of p99Seconds ÷ itself; absent when not
	// known.
	P99RelativeSpread *float64 `json:"p99RelativeSpread,omitempty" want:"spread"`
	// Requests is how many were answered.
	//
	// +kubebuilder:validation:Minimum=1
	Requests int `json:"requests" want:"positive"`
	// CPUSecondsPerSecond is the CPU time of the service per second: 1 is one CPU.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	CPUSecondsPerSecond float64 `json:"cpuSecondsPerSecond" want:"cpus-used"`
}

// ServiceFactors are the performance of a service beside the interferer at one load,
// and its traffic alone at that load.
type ServiceFactors struct {
	// RequestsPerSecond is the load.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1e9
	RequestsPerSecond float64 `json:"requestsPerSecond" want:"requests,ascending"`
	// ReadBytesPerSecond and WriteBytesPerSecond are the traffic of the service alone.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	ReadBytesPerSecond float64 `json:"readBytesPerSecond" want:"traffic"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	WriteBytesPerSecond float64 `json:"writeBytesPerSecond" want:"traffic"`
	// Curves are like spec.curves, of the time that a request takes of the CPUs: alone
	// ÷ beside the interferer. Every entry of factors has the same read shares,
	// patterns and levels.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Curves []SensitivityCurve `json:"curves" len:"1,64"`
}
