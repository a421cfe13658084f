package v1alpha1

import "bandmate.dev/bandmate/units"

// ApplicationSummary has the columns that kubectl shows of an ApplicationProfile,
// because a column cannot compute.
type ApplicationSummary struct {
	// Bandwidth is the traffic alone, reads and writes, as "38.1 GB/s".
	Bandwidth string `json:"bandwidth,omitempty"`
	// ReadShare is reads ÷ all, as "75%"; absent without traffic.
	ReadShare string `json:"readShare,omitempty"`
	// WorstSlowdown is the highest measured beside the interferer, as "1.64×".
	WorstSlowdown string `json:"worstSlowdown,omitempty"`
}

// MachineSummary has the column that kubectl shows of a MachineProfile.
type MachineSummary struct {
	// Sustained is the highest bandwidth of all read shares, as "42.7 GB/s".
	Sustained string `json:"sustained,omitempty"`
}

// Summarize derives the summary of a valid specification.
func (s *ApplicationProfileSpec) Summarize() *ApplicationSummary {
	traffic := units.Traffic{
		Read:  units.Bandwidth(s.Contentiousness.ReadBytesPerSecond),
		Write: units.Bandwidth(s.Contentiousness.WriteBytesPerSecond),
	}
	summary := &ApplicationSummary{Bandwidth: traffic.Total().String()}
	if share, ok := traffic.ReadShare(); ok {
		summary.ReadShare = share.String()
	}
	worst := units.Slowdown(1)
	for _, c := range s.Curves {
		for _, point := range c.Points {
			worst = max(worst, units.NormalizedPerformance(point.NormalizedPerformance).Slowdown())
		}
	}
	summary.WorstSlowdown = worst.String()
	return summary
}

// Summarize derives the summary of a valid specification.
func (s *MachineProfileSpec) Summarize() *MachineSummary {
	var highest units.Bandwidth
	for _, sustained := range s.Sustained {
		highest = max(highest, units.Bandwidth(sustained.BytesPerSecond))
	}
	return &MachineSummary{Sustained: highest.String()}
}

func (p *ApplicationProfile) dropSummary() { p.Summary = nil }

func (m *MachineProfile) dropSummary() { m.Summary = nil }
