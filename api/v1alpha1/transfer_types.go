package v1alpha1

// Transfer records that a profile was transferred: computed from the profile of the
// same application on another machine and the profiles of both machines.
type Transfer struct {
	// FromMachine is the metadata.name of the machine where it was measured.
	FromMachine string `json:"fromMachine" want:"machine"`
	// Method is how it was computed: capacity scales by the observed capacity of
	// both memories, sustained by the bandwidth that the interferer sustains on
	// both.
	//
	// +kubebuilder:validation:Enum=capacity;sustained
	Method string `json:"method" want:"capacity|sustained"`
	// LossUncertainty is the standard deviation of the application's loss of
	// performance under pressure ÷ the loss. It widens every interval that is
	// predicted from the profile.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	LossUncertainty float64 `json:"lossUncertainty" want:"share"`
	// CapacityBytesPerSecond is the observed capacity of this machine's memory,
	// which curves from another machine cannot show; absent when unknown.
	//
	// +kubebuilder:validation:Minimum=1e3
	// +kubebuilder:validation:Maximum=1e13
	CapacityBytesPerSecond *float64 `json:"capacityBytesPerSecond,omitempty" want:"rate"`
}

// The methods of Transfer.
const (
	TransferredByCapacity  = "capacity"
	TransferredBySustained = "sustained"
)
