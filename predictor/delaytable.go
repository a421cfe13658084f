package predictor

import (
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Columns returns the read shares of others at which an application is tabulated.
func Columns() [2]units.ReadShare { return [2]units.ReadShare{0.5, 1} }

// Column returns where traffic lies between the two Columns, from 0 to 1 (eq. 3
// of the paper): a table is read at low + column·(high − low). A read share below
// the first counts as the first. Without traffic it is 0.
func Column(t units.Traffic) float32 {
	share, known := t.ReadShare()
	if !known {
		return 0
	}
	at := Columns()
	return float32(min(max((share-at[0])/(at[1]-at[0]), 0), 1))
}

// DelayTable is a calibrated application at its mean over the run, tabulated against the
// delay of the memory. It is immutable and safe for concurrent use.
type DelayTable struct {
	// Model is of the memory. Tables of different models do not go together.
	Model *memory.Model
	// Target and Corunner are the application in either role.
	Target, Corunner *RoleTable
}

// RoleTable is an application in one role, tabulated by the delay of the memory.
type RoleTable struct {
	// Flow is what it transfers.
	Flow [memory.Delays]memory.Flow
	// Excess is its slowdown less 1, corrected by its curves, by column.
	Excess [2][memory.Delays]float32
}

// DelayTable tabulates an application that a calibration was applied to; it
// returns nil for others, and where a cache is shared as well.
func (a *Application) DelayTable() *DelayTable {
	if a.calibrated == nil || a.SharesCache() {
		return nil
	}
	t := &DelayTable{Model: a.calibrated.model}
	t.Corunner = a.roleTable(&a.calibrated.steadyAway)
	t.Target = t.Corunner
	if a.slowerAway != 1 || a.target != a.corunner {
		t.Target = a.roleTable(&a.calibrated.steadyHome)
	}
	return t
}

func (a *Application) roleTable(member *memory.Member) *RoleTable {
	flow, performance := a.calibrated.model.Tabulate(member)
	t := &RoleTable{Flow: flow}
	for column, share := range Columns() {
		others := units.TrafficOf(1, share)
		for place, p := range performance {
			corrected := min(max(a.corrected(float64(p), others), curves.Floor), 1)
			t.Excess[column][place] = float32(corrected.Slowdown()) - 1
		}
	}
	return t
}
