package v1alpha1

// Communication is the exchange of an application with other nodes over the network
// when nothing runs beside it. Traffic within its node does not count.
type Communication struct {
	// Source is measured, by the counters of the network interfaces, or declared by
	// the user.
	//
	// +kubebuilder:validation:Enum=measured;declared
	Source string `json:"source" want:"measured|declared"`
	// SentBytesPerSecond and ReceivedBytesPerSecond are means over the run, including
	// the communication; absent when not known, which is not zero. At least one is
	// present.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	SentBytesPerSecond *float64 `json:"sentBytesPerSecond,omitempty" want:"traffic"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e13
	ReceivedBytesPerSecond *float64 `json:"receivedBytesPerSecond,omitempty" want:"traffic"`
	// MessageBytes is the size of a message; absent when not known. The latency of
	// the network is then neglected.
	//
	// +kubebuilder:validation:Minimum=1
	MessageBytes *int64 `json:"messageBytes,omitempty" want:"message"`
	// Overlapped is true where the application computes while it communicates,
	// false where it waits; absent when not known.
	Overlapped *bool `json:"overlapped,omitempty"`
	// Apart is true if the profile was measured without the communication, as for an
	// application onboarded on one node that will run on several. Neither
	// contentiousness nor curves then include it.
	Apart bool `json:"apart,omitempty"`
	// Repeats is the number of runs measured; 0 if the rates are declared.
	//
	// +kubebuilder:validation:Minimum=0
	Repeats int `json:"repeats,omitempty" want:"count"`
	// RelativeSpread is the standard deviation of the bytes a run exchanges ÷
	// their median; absent with fewer than two repeats.
	RelativeSpread *float64 `json:"relativeSpread,omitempty" want:"spread"`
}

// The sources of a Communication.
const (
	CommunicationMeasured = "measured"
	CommunicationDeclared = "declared"
)

// Network is the network card of a machine, and how communications share it.
type Network struct {
	// Model is the model of package network (Vienne et al. 2008).
	//
	// +kubebuilder:validation:Enum=gigabit-ethernet;myrinet;infiniband
	Model string `json:"model" want:"gigabit-ethernet|myrinet|infiniband"`
	// BytesPerSecond is the bandwidth of one communication of large messages alone,
	// in one direction.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	BytesPerSecond float64 `json:"bytesPerSecond" want:"rate"`
	// LatencySeconds is the time of an empty message; absent when not known.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1e9
	LatencySeconds *float64 `json:"latencySeconds,omitempty" want:"latency"`
	// Beta, GammaOut and GammaIn are the parameters of gigabit-ethernet, and
	// absent for other models.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	Beta *float64 `json:"beta,omitempty" want:"part"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	GammaOut *float64 `json:"gammaOut,omitempty" want:"share"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	GammaIn *float64 `json:"gammaIn,omitempty" want:"share"`
}

// BusSharing models how computation and communication share the memory bus of a
// machine: the parameters of Denis et al. (2022), as fitted by bandmate overlap
// fit.
type BusSharing struct {
	// NodesPerSocket is the number of NUMA nodes of the socket that computes.
	//
	// +kubebuilder:validation:Minimum=1
	NodesPerSocket int `json:"nodesPerSocket" want:"positive"`
	// PartsPerCore is how many parts make a core where the numbers of cores count parts;
	// absent where they count cores.
	//
	// +kubebuilder:validation:Minimum=0
	PartsPerCore int `json:"partsPerCore,omitempty" want:"count"`
	// Local was measured with all data on a node of that socket, Remote with all
	// on another socket; absent on a machine with one.
	Local  BusSharingInstance  `json:"local"`
	Remote *BusSharingInstance `json:"remote,omitempty"`
}

// BusSharingInstance is the model for one distance to the memory. Its symbols
// are those of the paper's section III.A.
type BusSharingInstance struct {
	// CommunicationAloneBytesPerSecond is B_comm^seq.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	CommunicationAloneBytesPerSecond float64 `json:"communicationAloneBytesPerSecond" want:"rate"`
	// LeastCommunicationShare is α, above 0: communication that gets nothing never ends.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	LeastCommunicationShare float64 `json:"leastCommunicationShare" want:"part"`
	// ComputationPerCoreBytesPerSecond is B_comp^seq.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	ComputationPerCoreBytesPerSecond float64 `json:"computationPerCoreBytesPerSecond" want:"rate"`
	// ComputationAloneBytesPerSecond is T_seq^max, ComputationAloneCores N_seq^max.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	ComputationAloneBytesPerSecond float64 `json:"computationAloneBytesPerSecond" want:"rate"`
	// +kubebuilder:validation:Minimum=1
	ComputationAloneCores int `json:"computationAloneCores" want:"positive"`
	// TotalBytesPerSecond is T_par^max, TotalCores N_par^max.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	TotalBytesPerSecond float64 `json:"totalBytesPerSecond" want:"rate"`
	// +kubebuilder:validation:Minimum=1
	TotalCores int `json:"totalCores" want:"positive"`
	// TotalAtComputationAloneCoresBytesPerSecond is T_par^max2.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	TotalAtComputationAloneCoresBytesPerSecond float64 `json:"totalAtComputationAloneCoresBytesPerSecond" want:"rate"`
	// LossBeforeBytesPerSecond and LossAfterBytesPerSecond are δ_l and δ_r.
	//
	// +kubebuilder:validation:Minimum=-1e13
	// +kubebuilder:validation:Maximum=1e13
	LossBeforeBytesPerSecond float64 `json:"lossBeforeBytesPerSecond" want:"loss"`
	// +kubebuilder:validation:Minimum=-1e13
	// +kubebuilder:validation:Maximum=1e13
	LossAfterBytesPerSecond float64 `json:"lossAfterBytesPerSecond" want:"loss"`
}
