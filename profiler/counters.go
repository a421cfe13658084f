package profiler

import (
	"encoding/json"

	"bandmate.dev/bandmate/units"
)

// Scope says whose traffic a source counts.
type Scope string

const (
	// ScopeMachine is everything at the memory controllers: every process, the
	// kernel, and devices that read and write memory themselves (DMA). Beside a
	// command it includes whatever else ran; see [Counters.Background].
	ScopeMachine Scope = "machine"
	// ScopeCores is what all cores cause together, without DMA.
	ScopeCores Scope = "cores"
	// ScopeCommand is what the cores cause while they run a command or its
	// descendants, without DMA and without what they leave in a cache.
	ScopeCommand Scope = "command"
	// ScopeProcesses is what the cores cause while they run the chosen processes
	// and what those start meanwhile, without DMA and without processes that
	// join the chosen ones from elsewhere.
	ScopeProcesses Scope = "processes"
)

// Explain says what the scope includes; empty for an unknown scope.
func (s Scope) Explain() string {
	switch s {
	case ScopeMachine:
		return "the whole machine: includes other processes, the kernel and devices (DMA)"
	case ScopeCores:
		return "all cores of the machine: includes other processes, but no traffic of devices (DMA)"
	case ScopeCommand:
		return "the command and its descendants alone, as their cores see it: no traffic of devices (DMA)"
	case ScopeProcesses:
		return "the chosen processes and what they start, as their cores see it: no traffic of devices (DMA)"
	}
	return ""
}

// Counters holds the details of a source that reads counters. Where the summary's
// read share is absent, all traffic is under read.
type Counters struct {
	// Channels are the counting devices, which on most machines are memory
	// channels, in the order of their names.
	Channels []ChannelTraffic `json:"channels"`
	// Sockets add the channels up; empty when it is not known where they are.
	Sockets []SocketTraffic `json:"sockets"`
	// OtherMemory is the traffic of memory other than DRAM modules, which the
	// totals exclude.
	OtherMemory []MemoryTraffic `json:"otherMemory,omitempty"`
	// Background is the traffic shortly before and after a command. It is not
	// subtracted: other programs may slow down while the command runs.
	Background *Background `json:"background,omitempty"`
	// TheoreticalPeakBytesPerSecond is the speed of the memory modules × their
	// channels; absent where the firmware's tables cannot be read.
	TheoreticalPeakBytesPerSecond *float64 `json:"theoreticalPeakBytesPerSecond,omitempty"`
	// RelativeSpread is the standard deviation of the total over the time line ÷
	// its mean; absent with fewer than two samples.
	RelativeSpread *float64 `json:"relativeSpread,omitempty"`
	// LeastRunningShare is the lowest share of the time that any event counted,
	// 0 to 1. Below 1, counts are extrapolated.
	LeastRunningShare float64 `json:"leastRunningShare"`
}

// ChannelTraffic is the traffic at one counting device.
type ChannelTraffic struct {
	// Name is the device's. A device that is read on several CPUs adds the CPU:
	// "uncore_imc_0@28".
	Name string `json:"name"`
	// Socket and Node are absent where they are unknown.
	Socket *int `json:"socket,omitempty"`
	Node   *int `json:"node,omitempty"`

	units.Traffic
}

// SocketTraffic is the traffic at the memory controllers of a socket.
type SocketTraffic struct {
	// Socket is the kernel's number of the package.
	Socket int `json:"socket"`
	units.Traffic
}

// MemoryTraffic is the traffic of one kind of memory.
type MemoryTraffic struct {
	// Memory such as "HBM".
	Memory string `json:"memory"`
	units.Traffic
}

// Background is the mean traffic in a short window before and after a command.
type Background struct {
	BeforeBytesPerSecond float64 `json:"beforeBytesPerSecond"`
	AfterBytesPerSecond  float64 `json:"afterBytesPerSecond"`
}

// MarshalJSON writes c with empty lists instead of null.
func (c Counters) MarshalJSON() ([]byte, error) {
	type plain Counters
	p := plain(c)
	if p.Channels == nil {
		p.Channels = []ChannelTraffic{}
	}
	if p.Sockets == nil {
		p.Sockets = []SocketTraffic{}
	}
	return json.Marshal(p)
}

// Activity is the CPU use of a workload's processes. Fields that the kernel cannot
// or may not count are absent.
type Activity struct {
	// CPUSeconds is the CPU time of all their threads together.
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	// Instructions is the number of instructions executed, in user space alone
	// where InstructionsUserOnly is set. Most virtual machines cannot count it.
	Instructions         *float64 `json:"instructions,omitempty"`
	InstructionsUserOnly bool     `json:"instructionsUserOnly,omitempty"`
	// ContextSwitches is how often their threads left a CPU.
	ContextSwitches *float64 `json:"contextSwitches,omitempty"`
	// OtherCPUSeconds is the CPU time of everything else on the machine meanwhile,
	// including interrupts and this program.
	OtherCPUSeconds *float64 `json:"otherCPUSeconds,omitempty"`
}
