package profiler

import (
	"encoding/json"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// Summary is the result of a measurement. Its JSON form is that of
// `bandmate measure -o json`: lists are never null, and unknown values are absent
// rather than zero.
type Summary struct {
	// Source is the name of the source that measured.
	Source string `json:"source"`
	// Seconds is the wall time that the traffic is averaged over: one run of the
	// command alone, or the duration watched.
	Seconds float64 `json:"seconds"`
	// Traffic is the mean at the memory controller (Zacarias et al. 2020, eq. 1).
	// Where ReadShare is absent, only its total is known.
	units.Traffic
	// ReadShare is absent where it is unknown.
	ReadShare *float64 `json:"readShare,omitempty"`
	// PerNode divides the traffic by NUMA node; empty where the source cannot.
	PerNode []NodeTraffic `json:"perNode"`
	// RelativeUncertainty is how far the 90% interval of the total bandwidth reaches
	// from it ÷ the total: above 1 where the traffic may be zero; absent when unknown.
	RelativeUncertainty *float64 `json:"relativeUncertainty,omitempty"`
	// ReadShareUncertainty is the half width of the 90% interval of the read
	// share, for a profile; absent when unknown.
	ReadShareUncertainty *float64 `json:"-"`
	// Timeline is the traffic in consecutive intervals; empty where the source
	// cannot resolve time.
	Timeline []v1alpha1.TrafficSample `json:"timeline"`
	// Scope says whose traffic was counted; empty when it was inferred.
	Scope Scope `json:"scope,omitempty"`
	// Activity is the CPU use of the command or the processes; nil when the
	// workload is the machine, or nothing could be counted.
	Activity *Activity `json:"activity,omitempty"`
	// Counters holds details of counter sources; nil for others.
	Counters *Counters `json:"counters,omitempty"`
	// Warnings are doubts about the result.
	Warnings []string `json:"warnings"`
}

// NodeTraffic is the traffic at the memory controllers of one NUMA node.
type NodeTraffic struct {
	// Node is the number the kernel gives the node.
	Node int `json:"node"`
	units.Traffic
}

// MarshalJSON writes s with empty lists instead of null, and adds the field
// separation, which explains the scope.
func (s Summary) MarshalJSON() ([]byte, error) {
	type plain Summary
	p := struct {
		plain
		Separation string `json:"separation,omitempty"`
	}{plain(s), s.Scope.Explain()}
	if p.PerNode == nil {
		p.PerNode = []NodeTraffic{}
	}
	if p.Timeline == nil {
		p.Timeline = []v1alpha1.TrafficSample{}
	}
	if p.Warnings == nil {
		p.Warnings = []string{}
	}
	return json.Marshal(p)
}

// Contentiousness returns the part of s that a profile keeps.
func (s Summary) Contentiousness() v1alpha1.Contentiousness {
	return v1alpha1.Contentiousness{
		ReadBytesPerSecond:   float64(s.Read),
		WriteBytesPerSecond:  float64(s.Write),
		Source:               s.Source,
		RelativeUncertainty:  s.RelativeUncertainty,
		ReadShareUncertainty: s.ReadShareUncertainty,
		Timeline:             s.Timeline,
	}
}
