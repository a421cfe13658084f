package v1alpha1

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (m *Measurement) check(f *faults, p *field.Path) {
	// Other years do not survive RFC 3339, the format of a file.
	if year := m.Time.UTC().Year(); !m.Time.IsZero() && (year < 1970 || year > 9999) {
		f.invalid(p.Child("time"), m.Time.UTC().String(), "want a year from 1970 to 9999")
	}
}

// spread refuses a spread where fewer than two repeats cannot have one.
func (f *faults) spread(p *field.Path, spread *float64, repeats int) {
	if spread != nil && repeats < 2 {
		f.invalid(p, *spread, "want it absent with fewer than two repeats")
	}
}

func (t *Timing) check(f *faults, p *field.Path) {
	f.spread(p.Child("relativeSpread"), t.RelativeSpread, t.Repeats)
}

func (c *Contentiousness) check(f *faults, p *field.Path) {
	if total := c.ReadBytesPerSecond + c.WriteBytesPerSecond; total > 0 && total < MinBytesPerSecond {
		f.invalid(p, total, "want reads and writes in bytes per second, together 0 or at least 1e3 (is this in GB/s?)")
	}
}

func streamKey(readShare float64, pattern string) string {
	return fmt.Sprintf("read share %v, %s", readShare, cmp.Or(pattern, "sequential"))
}

func (c SensitivityCurve) key() string { return streamKey(c.ReadShare, c.Pattern) }

func (s SustainedBandwidth) key() string { return streamKey(s.ReadShare, s.Pattern) }

func (s *SustainedBandwidth) check(f *faults, p *field.Path) {
	f.spread(p.Child("relativeSpread"), s.RelativeSpread, s.Repeats)
}

func (c *CurvePoint) check(f *faults, p *field.Path) {
	switch repeats := p.Child("repeats"); {
	case c.Inferred && c.Repeats > 0:
		f.invalid(repeats, c.Repeats, "want 0: an inferred point was not measured")
	case !c.Inferred && c.Repeats == 0:
		f.invalid(repeats, c.Repeats, "want 1 or more")
	}
	if !c.Inferred {
		f.spread(p.Child("spread"), c.Spread, c.Repeats)
	}
}

func (c CachePoint) key() string {
	return fmt.Sprintf("footprint %d, read share %v, level %v", c.FootprintBytes, c.ReadShare, c.Level)
}

func (c *CachePoint) check(f *faults, p *field.Path) {
	f.spread(p.Child("spread"), c.Spread, c.Repeats)
}

func (d *Distance) check(f *faults, p *field.Path) {
	if total := d.TargetReadBytesPerSecond + d.TargetWriteBytesPerSecond; total > 0 && total < MinBytesPerSecond {
		f.invalid(p, total, "want target reads and writes in bytes per second, together 0 or at least 1e3 (is this in GB/s?)")
	}
}

// mostFartherAway bounds how much longer, or shorter, an application may take as a
// co-runner than as a target: more is a mistaken unit, or another run.
const mostFartherAway = 100

// distance refuses a distance that the rest of the specification contradicts.
func (s *ApplicationProfileSpec) distance(f *faults, p *field.Path) {
	if s.Distance == nil {
		return
	}
	away, home := s.Distance.CorunnerSolo.Seconds, s.Solo.Seconds
	if seconds := numberRules["seconds"]; seconds.holds(away) && seconds.holds(home) && max(away/home, home/away) > mostFartherAway {
		f.invalid(p.Child("corunnerSolo", "seconds"), away, fmt.Sprintf("want within a factor of %d of spec.solo.seconds, %v", mostFartherAway, home))
	}
	target := s.Distance.TargetReadBytesPerSecond + s.Distance.TargetWriteBytesPerSecond
	corunner := s.Contentiousness.ReadBytesPerSecond + s.Contentiousness.WriteBytesPerSecond
	if target > 0 && corunner == 0 || target == 0 && corunner > 0 {
		f.invalid(p.Child("targetReadBytesPerSecond"), target,
			fmt.Sprintf("want traffic as a target exactly where spec.contentiousness has traffic as a co-runner: it has %v bytes per second", corunner))
	}
}

func (s *ApplicationProfileSpec) check(f *faults, p *field.Path) {
	s.distance(f, p.Child("distance"))
	const tolerance = 1e-3
	sum := 0.0
	for _, phase := range s.Phases {
		sum += phase.TimeShare
	}
	if n := len(s.Phases); n > 0 && n <= maxPhases && !(sum >= 1-tolerance && sum <= 1+tolerance) {
		f.invalid(p.Child("phases"), sum, "want time shares that add up to 1")
	}
}

func (c ProbePoint) key() string {
	return fmt.Sprintf("%s at read share %v, level %v, regime %q", c.Probe, c.ReadShare, c.Level, c.Regime)
}

func (c *ProbePoint) check(f *faults, p *field.Path) {
	f.spread(p.Child("spread"), c.Spread, c.Repeats)
}

// nodesKey describes NUMA nodes that are present, after a comma.
func nodesKey(cpu, memory *int) string {
	var text string
	if cpu != nil {
		text += fmt.Sprintf(", CPUs of node %d", *cpu)
	}
	if memory != nil {
		text += fmt.Sprintf(", memory of node %d", *memory)
	}
	return text
}

func (l LineLatency) key() string {
	return fmt.Sprintf("%s %s %s%s", l.Place, l.State, l.Memory, nodesKey(l.CPUNode, l.MemoryNode))
}

func (l *LineLatency) check(f *faults, p *field.Path) {
	if low := l.LowNanoseconds; low != nil && *low > l.Nanoseconds {
		f.invalid(p.Child("lowNanoseconds"), *low, "want at most the median")
	}
	if high := l.HighNanoseconds; high != nil && *high < l.Nanoseconds {
		f.invalid(p.Child("highNanoseconds"), *high, "want the median or more")
	}
}

func (b AccessBandwidth) key() string {
	return fmt.Sprintf("%s of %s with %d threads, non-temporal %t%s", b.Access, cmp.Or(b.Memory, "memory"), b.Threads, b.NonTemporal, nodesKey(b.CPUNode, b.MemoryNode))
}

func (t LinesTransfer) key() string {
	return fmt.Sprintf("%s of %s lines, %s", t.Access, t.State, t.Place)
}

func (l LoadedLatency) key() string {
	return fmt.Sprintf("%d threads, %v reads, level %v", l.StreamingThreads, l.ReadShare, l.Level)
}

func (c *Communication) check(f *faults, p *field.Path) {
	if c.SentBytesPerSecond == nil && c.ReceivedBytesPerSecond == nil {
		f.required(p, "want sentBytesPerSecond, receivedBytesPerSecond or both; without either, leave communication out")
	}
	f.spread(p.Child("relativeSpread"), c.RelativeSpread, c.Repeats)
	switch {
	case c.Source == CommunicationMeasured && c.Repeats == 0:
		f.invalid(p.Child("repeats"), c.Repeats, "want the number of runs measured")
	case c.Source == CommunicationDeclared && c.Repeats != 0:
		f.invalid(p.Child("repeats"), c.Repeats, "want none where the rates are declared")
	case c.Source == CommunicationMeasured && c.Apart:
		f.invalid(p.Child("apart"), c.Apart, "want false: the profile was measured with this communication")
	}
}

func (n *Network) check(f *faults, p *field.Path) {
	parameter := func(name string, value *float64) {
		switch {
		case n.Model == "gigabit-ethernet" && value == nil:
			f.required(p.Child(name), "want the parameter of gigabit-ethernet, as bandmate network fit finds it")
		case (n.Model == "myrinet" || n.Model == "infiniband") && value != nil:
			f.invalid(p.Child(name), *value, "want it absent: it is a parameter of gigabit-ethernet")
		}
	}
	parameter("beta", n.Beta)
	parameter("gammaOut", n.GammaOut)
	parameter("gammaIn", n.GammaIn)
}
