package predictor

import (
	"bandmate.dev/bandmate/units"
)

// Snapshot is everything that the default method reads of an application that
// is not calibrated, as plain numbers: with it the method can be computed
// elsewhere, as in a report that is read without Bandmate. Its numbers are those
// of the compiled profile, to the last bit. Rates are in bytes per second.
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
}

// SnapshotPhase is a part of the solo run; its rates are relative to the mean.
type SnapshotPhase struct {
	TimeShare float64 `json:"timeShare"`
	Read      float64 `json:"read"`
	Write     float64 `json:"write"`
	Total     float64 `json:"total"`
}

// Snapshot returns the numbers of a.
func (a *Application) Snapshot() Snapshot {
	s := Snapshot{
		Name: a.name, Read: a.corunner.Read, Write: a.corunner.Write, TrafficKnown: a.trafficKnown,
		TrafficDoubt: a.uncertainty.bandwidth, ReadShareDoubt: a.uncertainty.readShare,
		AchievedKnown: a.achievedKnown, Carried: a.carried(), Noise: a.noise, LossDoubt: a.lossDoubt,
		Responses: make([]SnapshotResponse, 0, len(a.responses)),
	}
	for i := range a.responses {
		r := &a.responses[i]
		answer := SnapshotResponse{ReadShare: r.share, Residual: r.performance.Residual()}
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
