package profiler

// Activity is what the processes of a workload did on CPUs. Fields that the
// kernel cannot or may not count are absent.
type Activity struct {
	// CPUSeconds is the CPU time of all their threads together.
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	// Instructions they executed, in user space alone where InstructionsUserOnly
	// is set. Absent on machines without hardware counters in the cores, which
	// most virtual machines are.
	Instructions         *float64 `json:"instructions,omitempty"`
	InstructionsUserOnly bool     `json:"instructionsUserOnly,omitempty"`
	// ContextSwitches is how often their threads left a CPU.
	ContextSwitches *float64 `json:"contextSwitches,omitempty"`
	// OtherCPUSeconds is the CPU time of everything else on the machine in the
	// same time: other processes, interrupts, and this program.
	OtherCPUSeconds *float64 `json:"otherCPUSeconds,omitempty"`
}
