package predictor

import (
	"reflect"
	"slices"

	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Snapshot is everything that the default method reads of an application, as
// plain numbers: with it the method can be computed elsewhere, as in a report
// that is read without Bandmate. Its numbers are those of the compiled profile,
// to the last bit. Rates are in bytes per second. What WithDistance adds is not
// in it.
type Snapshot struct {
	Name string `json:"name"`
	// Read and Write are the traffic alone; zero where TrafficKnown is false.
	Read         units.Bandwidth `json:"read"`
	Write        units.Bandwidth `json:"write"`
	TrafficKnown bool            `json:"trafficKnown"`
	// TrafficDoubt is the half width of the 90% interval of the total ÷ the
	// total, ReadShareDoubt that of the read share.
	TrafficDoubt   float64 `json:"trafficDoubt"`
	ReadShareDoubt float64 `json:"readShareDoubt"`
	// AchievedKnown is true where Steps are against what the others really
	// transfer, false where they are against what these transfer alone.
	AchievedKnown bool `json:"achievedKnown"`
	// Carried is the highest traffic that the memory was seen to carry with
	// the application.
	Carried units.Bandwidth `json:"carried"`
	// Noise is the standard deviation of a measured point, LossDoubt that of the
	// lost performance, relative, of a profile carried over.
	Noise     float64 `json:"noise"`
	LossDoubt float64 `json:"lossDoubt"`
	// Responses are in order of read share; none without curves.
	Responses []SnapshotResponse `json:"responses"`
	// Phases have at least one member.
	Phases []SnapshotPhase `json:"phases"`
	// Described is the application as a model of the memory describes it; absent
	// where none does, and the curves serve alone.
	Described *SnapshotDescribed `json:"described,omitempty"`
	// Load is what the application exchanges over the network; absent where nothing
	// is known of that.
	Load *communication.LoadSnapshot `json:"load,omitempty"`
}

// SnapshotSet is the numbers of several applications, and what these refer to.
type SnapshotSet struct {
	Applications []Snapshot
	// Models are of memories, Networks of machines: see Snapshot.Described.Model and
	// Snapshot.Load.Machine.
	Models   []memory.ModelSnapshot
	Networks []communication.MachineSnapshot
}

// SnapshotDescribed is what a Calibration adds to an application.
type SnapshotDescribed struct {
	// Model is the index of the model in the SnapshotSet. Applications are
	// predicted by it where all that have curves are described by the same one.
	Model int `json:"model"`
	// Home and Away are the phases as a target and as a co-runner, SteadyHome and
	// SteadyAway the mean over the run; these are absent with a single phase.
	Home       []memory.MemberSnapshot `json:"home"`
	Away       []memory.MemberSnapshot `json:"away"`
	SteadyHome *memory.MemberSnapshot  `json:"steadyHome,omitempty"`
	SteadyAway *memory.MemberSnapshot  `json:"steadyAway,omitempty"`
	// HomeShares are the phases' shares of the time alone as a target.
	HomeShares []float64 `json:"homeShares"`
	// Corrections are what the model leaves of each response; none without curves.
	Corrections []SnapshotCorrection `json:"corrections,omitempty"`
	// Residual is the standard deviation of the points about what is predicted,
	// Points how many there are.
	Residual float64 `json:"residual"`
	Points   int     `json:"points"`
}

// SnapshotCorrection is by how much performance differs, as a natural logarithm,
// where the model says a performance; joined by straight lines.
type SnapshotCorrection struct {
	// Said falls from 1; Factor has as many members.
	Said   []float64 `json:"said"`
	Factor []float64 `json:"factor"`
}

// SnapshotResponse is how an application answers to one read share.
type SnapshotResponse struct {
	ReadShare units.ReadShare `json:"readShare"`
	// Steps are traffic of the others and normalized performance beside it,
	// from (0, 1), joined by straight lines.
	Steps [][2]float64 `json:"steps"`
	// Curve is the fitted curve: what the interferer reaches alone and
	// normalized performance beside it, joined by straight lines from (0, 1).
	Curve [][2]float64 `json:"curve"`
	// Residual is the standard deviation of the points about the curve.
	Residual float64 `json:"residual"`
	// HalfWidth is half the width of the 90% interval of Curve, in normalized
	// performance: of what measuring and fitting leave in doubt. Where nobody
	// presses, performance is 1 by definition and not in doubt.
	HalfWidth float64 `json:"halfWidth"`
}

// SnapshotPhase is a part of the solo run; its rates are relative to the mean.
type SnapshotPhase struct {
	TimeShare float64 `json:"timeShare"`
	Read      float64 `json:"read"`
	Write     float64 `json:"write"`
	Total     float64 `json:"total"`
}

// Snapshots returns the numbers of applications, in order. Models and networks are
// in the order in which they are first met.
func Snapshots(apps []*Application) SnapshotSet {
	set := SnapshotSet{Applications: make([]Snapshot, len(apps)), Models: []memory.ModelSnapshot{}, Networks: []communication.MachineSnapshot{}}
	places := map[*memory.Model]int{}
	for i, a := range apps {
		s := a.snapshot()
		if c := a.calibrated; c != nil {
			place, met := places[c.model]
			if !met {
				place = len(set.Models)
				places[c.model] = place
				set.Models = append(set.Models, c.model.Snapshot())
			}
			s.Described = a.snapshotDescribed(place)
		}
		if a.load != nil {
			load, network := a.load.Snapshot()
			if network != nil {
				load.Machine = new(set.place(*network))
			}
			s.Load = &load
		}
		set.Applications[i] = s
	}
	return set
}

// place returns the index of a network, which it adds if it is not there. They
// are few.
func (set *SnapshotSet) place(network communication.MachineSnapshot) int {
	same := func(other communication.MachineSnapshot) bool { return reflect.DeepEqual(network, other) }
	if i := slices.IndexFunc(set.Networks, same); i >= 0 {
		return i
	}
	set.Networks = append(set.Networks, network)
	return len(set.Networks) - 1
}

// snapshot returns the numbers of a but for Described and Load.
func (a *Application) snapshot() Snapshot {
	s := Snapshot{
		Name: a.name, Read: a.corunner.Read, Write: a.corunner.Write, TrafficKnown: a.trafficKnown,
		TrafficDoubt: a.uncertainty.bandwidth, ReadShareDoubt: a.uncertainty.readShare,
		AchievedKnown: a.achievedKnown, Carried: a.observedCapacity(), Noise: a.noise, LossDoubt: a.lossDoubt,
		Responses: make([]SnapshotResponse, 0, len(a.responses)),
	}
	for i := range a.responses {
		r := &a.responses[i]
		residual := r.performance.Residual()
		answer := SnapshotResponse{ReadShare: r.share, Residual: residual, HalfWidth: normal90 * max(residual, a.noise)}
		for _, at := range r.performance.Points() {
			fitted := r.performance.At(at.Bandwidth)
			answer.Curve = append(answer.Curve, [2]float64{float64(at.Bandwidth), float64(fitted)})
		}
		for _, at := range r.steps {
			answer.Steps = append(answer.Steps, [2]float64{float64(at.actual), float64(at.performance)})
		}
		s.Responses = append(s.Responses, answer)
	}
	for _, p := range a.phases {
		s.Phases = append(s.Phases, SnapshotPhase{TimeShare: p.timeShare, Read: p.read, Write: p.write, Total: p.total})
	}
	return s
}

// snapshotDescribed returns the numbers of a as the model describes it; a is
// calibrated.
func (a *Application) snapshotDescribed(model int) *SnapshotDescribed {
	c := a.calibrated
	s := &SnapshotDescribed{Model: model, HomeShares: c.homeShares, Residual: c.residual}
	for i := range c.home {
		s.Home = append(s.Home, c.home[i].Snapshot())
		s.Away = append(s.Away, c.away[i].Snapshot())
	}
	if len(c.home) > 1 {
		home, away := c.steadyHome.Snapshot(), c.steadyAway.Snapshot()
		s.SteadyHome, s.SteadyAway = &home, &away
	}
	for _, correction := range c.corrections {
		s.Corrections = append(s.Corrections, SnapshotCorrection{correction.modeled, correction.factor})
	}
	for i := range a.responses {
		s.Points += len(a.responses[i].points)
	}
	return s
}
