package server

import (
	"context"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report/page"
	"bandmate.dev/bandmate/service"
)

// Source provides the current profiles.
type Source interface {
	// Now returns the same Advisor as long as nothing changes, or an error when the
	// profiles cannot be read.
	Now(ctx context.Context) (*advisor.Advisor, error)
}

// Question asks for the slowdown of a target beside co-runners.
type Question struct {
	Target    string
	Corunners []string // one or more; names may repeat
	// Machine is the machine to predict for; empty where all names have one only.
	Machine string
	Method  predictor.Method
	Explain bool
	// Demands are what is asked of services, the target's first; zero of others.
	Demands []service.Demand
}

// MatrixQuestion asks for the slowdown of targets beside co-runners.
type MatrixQuestion struct {
	// Applications are those of the matrix; empty means all of the machine.
	Applications []string
	Machine      string // empty means all
	Method       predictor.Method
	Rows         Window // targets
	Columns      Window // co-runners
}

// Window is a part of a list.
type Window struct {
	// Offset is the index of the first element; beyond the end the window is empty.
	Offset int
	// Limit is the highest number of elements, above 0.
	Limit int
}

// Of returns the part of n: from first up to, not including, end.
func (w Window) Of(n int) (first, end int) {
	first = min(max(w.Offset, 0), n)
	return first, first + min(max(w.Limit, 0), n-first)
}

// Matrix is a part of the slowdowns of every pair.
type Matrix struct {
	Method predictor.Method `json:"method"`
	// Basis is what the default method rests on for what is shown; absent for the
	// others.
	Basis predictor.Basis `json:"basis,omitempty"`
	// Total is how many applications the whole matrix has.
	Total int `json:"total"`
	// Offset and CorunnerOffset are the places of the first target and the first
	// co-runner.
	Offset         int      `json:"offset"`
	CorunnerOffset int      `json:"corunnerOffset"`
	Targets        []string `json:"targets"`
	Corunners      []string `json:"corunners"`
	// Slowdowns[i][j] is that of target i beside co-runner j; nil where it is not
	// known, because the one has no curves or the other's traffic is unknown.
	Slowdowns [][]*float64 `json:"slowdowns"`
	Warnings  []string     `json:"warnings"`
}

// Application is what is known of an application on a machine.
type Application struct {
	Name    string `json:"name"`
	Machine string `json:"machine"`
	// ReadBytesPerSecond and WriteBytesPerSecond are the traffic alone; absent
	// where it is unknown.
	ReadBytesPerSecond  *float64 `json:"readBytesPerSecond,omitempty"`
	WriteBytesPerSecond *float64 `json:"writeBytesPerSecond,omitempty"`
	// Source says how the traffic was found.
	Source      string  `json:"source,omitempty"`
	SoloSeconds float64 `json:"soloSeconds"`
	SoloRepeats int     `json:"soloRepeats"`
	// Measured is when, in RFC 3339; absent where the profile does not say.
	Measured string   `json:"measured,omitempty"`
	Curves   []Curve  `json:"curves"`
	Warnings []string `json:"warnings"`
}

// Curve is a sensitivity curve in short.
type Curve struct {
	ReadShare float64 `json:"readShare"`
	Pattern   string  `json:"pattern,omitempty"`
	Points    int     `json:"points"`
	// Worst is the highest slowdown of its points.
	Worst float64 `json:"worst"`
}

// applicationList is the answer of /api/v1/applications.
type applicationList struct {
	Applications []Application `json:"applications"`
	Total        int           `json:"total"`
	Offset       int           `json:"offset"`
	Warnings     []string      `json:"warnings"`
}

// machineList is the answer of /api/v1/machines.
type machineList struct {
	Machines []page.Machine `json:"machines"`
	Warnings []string       `json:"warnings"`
}

// health is the answer of /healthz.
type health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}
