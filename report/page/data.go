package page

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Data is the content as numbers: what the page holds in JSON, and what it
// offers for download.
type Data struct {
	Generated    string        `json:"generated,omitempty"`
	Version      string        `json:"version"`
	Method       string        `json:"method"`
	Machines     []Machine     `json:"machines"`
	Applications []Application `json:"applications"`
	// Memories are the models of memories to which Tables refer.
	Memories []memory.Numbers `json:"memories"`
	// Pairs are the predictions of Applications[i] beside Applications[j], a second
	// instance of itself included; absent where there are more than MaxExact
	// applications, and the page approximates them.
	Pairs    [][]Pair `json:"pairs,omitempty"`
	Pairing  *Pairing `json:"pairing,omitempty"`
	Warnings []string `json:"warnings"`
	// Served is true where the page may ask the server that it came from.
	Served bool `json:"served,omitempty"`
}

// Pair is a compact prediction: the slowdown, the low and the high end of its 90%
// interval, 1 for a model of the memory or 0 for curves, the pressure beyond the measured
// range in bytes per second, and the slowdown by memory alone if the application
// communicates. Trailing zeros are left out. A pair that cannot be predicted is nil.
type Pair []float64

// Pairing divides the applications into pairs.
type Pairing struct {
	// Pairs are indices into Applications.
	Pairs [][2]int `json:"pairs"`
	// Alone are the applications without a partner.
	Alone []int `json:"alone"`
	// Total, Greedy and Random are sums of slowdowns: of this pairing, of the
	// one that takes the best pair first, of pairing at random on average.
	Total  float64 `json:"total"`
	Greedy float64 `json:"greedy"`
	Random float64 `json:"random"`
}

// Machine is a MachineProfile for the page.
type Machine struct {
	Name                string      `json:"name"`
	CPUModel            string      `json:"cpuModel,omitempty"`
	Sockets             int         `json:"sockets"`
	NUMANodes           int         `json:"numaNodes"`
	CPUs                int         `json:"cpus"`
	LastLevelCacheBytes int64       `json:"lastLevelCacheBytes,omitempty"`
	MemoryBytes         int64       `json:"memoryBytes,omitempty"`
	VirtualMachine      bool        `json:"virtualMachine"`
	Sustained           []Sustained `json:"sustained"`
	Warnings            []string    `json:"warnings,omitempty"`
}

// Sustained is the highest bandwidth of the interferer alone, per read share.
type Sustained struct {
	ReadShare      float64  `json:"readShare"`
	Pattern        string   `json:"pattern,omitempty"`
	BytesPerSecond float64  `json:"bytesPerSecond"`
	RelativeSpread *float64 `json:"relativeSpread,omitempty"`
}

// Application is an ApplicationProfile for the page.
type Application struct {
	Name    string   `json:"name"`
	Machine string   `json:"machine"`
	Command []string `json:"command,omitempty"`
	Seconds float64  `json:"seconds"`
	// Read and Write are the traffic alone; absent where it is not known.
	Read    *units.Bandwidth `json:"readBytesPerSecond,omitempty"`
	Write   *units.Bandwidth `json:"writeBytesPerSecond,omitempty"`
	Source  string           `json:"source"`
	Repeats int              `json:"repeats"`
	// Saturation is the load, in requests per second, that a service cannot exceed alone;
	// absent for an application that is no service.
	Saturation *float64 `json:"saturationRequestsPerSecond,omitempty"`
	Measured   string   `json:"measured,omitempty"`
	Curves     []Curve  `json:"curves"`
	// Fits are the curves that predictions read; none without curves.
	Fits []predictor.Fit `json:"fits"`
	// SharesCache is true where a model of a shared cache predicts it, which Tables do not
	// know.
	SharesCache bool `json:"sharesCache,omitempty"`
	// Tables are those that approximate.
	Tables Tables `json:"tables"`
	// Suffers is the mean slowdown beside each other application, Causes the
	// mean slowdown of the others beside it; absent where not known.
	Suffers  *float64 `json:"suffers,omitempty"`
	Causes   *float64 `json:"causes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Curve is the measured points at one read share.
type Curve struct {
	ReadShare float64 `json:"readShare"`
	Pattern   string  `json:"pattern,omitempty"`
	Points    []Point `json:"points"`
}

// Point is one measured or inferred point of a curve.
type Point struct {
	Bandwidth   float64  `json:"x"`
	Performance float64  `json:"y"`
	Spread      *float64 `json:"spread,omitempty"`
	Achieved    *float64 `json:"achieved,omitempty"`
	Repeats     int      `json:"repeats,omitempty"`
	Inferred    bool     `json:"inferred,omitempty"`
}
