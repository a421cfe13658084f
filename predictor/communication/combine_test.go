package communication_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/units"
)

const gb = 1e9

// machine has a network of 1 GB/s, which one communication fills.
func machine(t testing.TB, change ...func(*v1alpha1.MachineProfileSpec)) *communication.Machine {
	t.Helper()
	p := &v1alpha1.MachineProfile{}
	p.Name = "m"
	p.Spec.Network = &v1alpha1.Network{Model: network.NameGigabitEthernet, BytesPerSecond: gb, Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0)}
	for _, c := range change {
		c(&p.Spec)
	}
	m, err := communication.NewMachine(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sends is an application that sends for this share of its time.
func sends(share float64, overlapped bool) *v1alpha1.Communication {
	return &v1alpha1.Communication{
		Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(share * gb), ReceivedBytesPerSecond: new(0.0), Overlapped: &overlapped,
	}
}

func apart(c *v1alpha1.Communication) *v1alpha1.Communication {
	c.Apart = true
	return c
}

// bus carries 30 GB/s: cores take 10 GB/s each, communication alone 1 GB/s, at
// least 0.4.
func bus(s *v1alpha1.MachineProfileSpec) {
	s.BusSharing = &v1alpha1.BusSharing{NodesPerSocket: 1, Local: v1alpha1.BusSharingInstance{
		CommunicationAloneBytesPerSecond: 1 * gb, LeastCommunicationShare: 0.4, ComputationPerCoreBytesPerSecond: 10 * gb,
		ComputationAloneBytesPerSecond: 30 * gb, ComputationAloneCores: 3, TotalBytesPerSecond: 30 * gb, TotalCores: 3,
		TotalAtComputationAloneCoresBytesPerSecond: 30 * gb,
	}}
}

func TestCombine(t *testing.T) {
	plain := machine(t)
	shared := machine(t, bus)
	member := func(m *communication.Machine, memory units.Slowdown, traffic float64, c *v1alpha1.Communication) communication.Member {
		member := communication.Member{Memory: memory, Traffic: units.Bandwidth(traffic * gb)}
		if c != nil {
			member.Load = m.Load(c)
		}
		return member
	}
	tests := []struct {
		name    string
		members []communication.Member
		want    []float64
		gaps    communication.Gap // of the first
	}{
		{"nobody communicates", []communication.Member{member(plain, 1.2, 5, nil), member(plain, 1.1, 5, nil)}, []float64{1.2, 1.1}, 0},
		{"alone", []communication.Member{member(plain, 1, 0, sends(0.5, false))}, []float64{1}, 0},
		{"beside one that computes", []communication.Member{member(plain, 1.2, 5, sends(0.5, false)), member(plain, 1.1, 5, nil)}, []float64{1.2, 1.1}, communication.PeersUnknown},
		{"two that do nothing else", []communication.Member{member(plain, 1, 0, sends(1, false)), member(plain, 1, 0, sends(1, false))}, []float64{2, 2}, 0},
		// A sends for all of its time, B for half of its own: together they fill the
		// card, A at 1/P with P = 1 ÷ (1 − u/2), u = 1/1.5 of the time that B is on it.
		{"one of them computes in between", []communication.Member{member(plain, 1, 0, sends(1, false)), member(plain, 1, 0, sends(0.5, false))}, []float64{1.5, 1.5}, 0},
		{"three", []communication.Member{member(plain, 1, 0, sends(1, false)), member(plain, 1, 0, sends(1, false)), member(plain, 1, 0, sends(1, false))}, []float64{3, 3, 3}, 0},
		{"hidden by computing", []communication.Member{member(plain, 1, 0, sends(0.4, true)), member(plain, 1, 0, sends(0.4, true))}, []float64{1, 1}, 0},
		{"hidden no more", []communication.Member{member(plain, 1, 0, sends(0.8, true)), member(plain, 1, 0, sends(0.8, true))}, []float64{1.6, 1.6}, 0},
		// It takes two rounds until the first one's messages show behind its memory.
		{"hidden at first", []communication.Member{member(plain, 1.5, 0, sends(1, true)), member(plain, 1, 0, sends(0.5, true))}, []float64{2, 1}, 0},
		{"hidden by memory", []communication.Member{member(plain, 1.7, 0, sends(0.8, true)), member(plain, 1.7, 0, sends(0.8, true))}, []float64{1.7, 1.7}, 0},
		{"memory and card of one that waits", []communication.Member{member(plain, 1.5, 0, sends(0.5, false)), member(plain, 1, 0, sends(1, false))}, []float64{2, 1 / (1 - 0.25)}, 0},
		{"apart, on a bus that carries both", []communication.Member{member(shared, 1.5, 10, apart(sends(0.5, false))), member(shared, 1, 10, nil)}, []float64{0.5*1.5 + 0.5, 1}, communication.PeersUnknown},
		// Three cores of others fill the bus: 0.4 GB/s are left of 1.
		{"apart, on a full bus", []communication.Member{member(shared, 1.5, 10, apart(sends(0.5, false))), member(shared, 1, 30, nil)}, []float64{0.5*1.5 + 0.5/0.4, 1}, communication.PeersUnknown},
		// Two own cores fit, four in all do not.
		{"apart and overlapped", []communication.Member{member(shared, 1.5, 30, apart(sends(0.8, true))), member(shared, 1, 20, nil)}, []float64{0.8 / 0.4, 1}, communication.PeersUnknown},
		{"in the profile: the bus is not counted again", []communication.Member{member(shared, 1.5, 10, sends(0.5, false)), member(shared, 1, 30, nil)}, []float64{1.5, 1}, communication.PeersUnknown},
		{"apart without a sweep", []communication.Member{member(plain, 1.5, 10, apart(sends(0.5, false)))}, []float64{1.25}, communication.NoBusSharing},
		{"more than the network carries", []communication.Member{member(plain, 1, 0, sends(3, false)), member(plain, 1, 0, sends(1, false))}, []float64{2, 2}, communication.AboveRate},
		{"no network known", []communication.Member{member(nil, 1.3, 0, sends(1, false)), member(nil, 1, 0, sends(1, false))}, []float64{1.3, 1}, communication.NoNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parts := new(communication.Combiner).Combine(nil, tt.members)
			const tolerance = 2e-3
			for i, want := range tt.want {
				if got := float64(parts[i].Slowdown); math.Abs(got-want) > tolerance {
					t.Errorf("member %d: slowdown %.4f, want %.4f (%+v)", i, got, want, parts[i])
				}
			}
			if parts[0].Gaps != tt.gaps {
				t.Errorf("gaps %b, want %b", parts[0].Gaps, tt.gaps)
			}
		})
	}
}

func TestCardsAndDirections(t *testing.T) {
	m := machine(t)
	a := communication.Member{Load: m.Load(sends(1, false)), Memory: 1, Card: "n1"}
	b := communication.Member{Load: m.Load(sends(1, false)), Memory: 1, Card: "n2"}
	if parts := new(communication.Combiner).Combine(nil, []communication.Member{a, b}); parts[0].Slowdown != 1 || parts[1].Slowdown != 1 {
		t.Errorf("two cards: %+v", parts)
	}
	receives := &v1alpha1.Communication{Source: v1alpha1.CommunicationDeclared, ReceivedBytesPerSecond: new(gb), Overlapped: new(false)}
	b = communication.Member{Load: m.Load(receives), Memory: 1, Card: "n1"}
	parts := new(communication.Combiner).Combine(nil, []communication.Member{a, b})
	if parts[0].Slowdown != 1 || parts[1].Slowdown != 1 || parts[1].Gaps != communication.NoSent {
		t.Errorf("one sends, the other receives: %+v", parts)
	}
}

func TestLatencyIsNotStretched(t *testing.T) {
	m := machine(t, func(s *v1alpha1.MachineProfileSpec) { s.Network.LatencySeconds = new(1e-3) })
	c := sends(0.4, false)
	c.MessageBytes = new(int64(1e6)) // 400 messages a second
	l := m.Load(c)
	if share, known := l.Share(); !known || math.Abs(share-0.8) > 1e-9 {
		t.Errorf("share %v", share)
	}
	full := communication.Member{Load: m.Load(sends(1, true)), Memory: 1}
	parts := new(communication.Combiner).Combine(nil, []communication.Member{{Load: l, Memory: 1}, full})
	if got := float64(parts[0].Slowdown); math.Abs(got-1.4) > 1e-3 {
		t.Errorf("%.4f, want 1.4: 0.4 twice as long, 0.4 and 0.2 as before", got)
	}
}

func TestInfinibandHasLimits(t *testing.T) {
	m := machine(t, func(s *v1alpha1.MachineProfileSpec) {
		s.Network = &v1alpha1.Network{Model: network.NameInfiniband, BytesPerSecond: gb}
	})
	var members []communication.Member
	for range 4 {
		members = append(members, communication.Member{Load: m.Load(sends(1, false)), Memory: 1})
	}
	var c communication.Combiner
	if p := c.Combine(nil, members[:3])[0]; math.Abs(p.Penalty-2.61) > 1e-3 || p.Gaps != 0 {
		t.Errorf("three: %+v", p)
	}
	if p := c.Combine(nil, members)[0]; p.Gaps != communication.BeyondModel || p.Show().CardPenalty != nil || !(p.Penalty >= 2.61) {
		t.Errorf("four: %+v", p)
	}
}

// The table has no penalties of what arrives together, which does not matter where one
// receives and the others only send.
func TestInfinibandHasLimitsInADirection(t *testing.T) {
	m := machine(t, func(s *v1alpha1.MachineProfileSpec) {
		s.Network = &v1alpha1.Network{Model: network.NameInfiniband, BytesPerSecond: gb}
	})
	receives := &v1alpha1.Communication{SentBytesPerSecond: new(0.0), ReceivedBytesPerSecond: new(gb), Overlapped: new(false)}
	sender, receiver := communication.Member{Load: m.Load(sends(1, false)), Memory: 1}, communication.Member{Load: m.Load(receives), Memory: 1}
	var c communication.Combiner
	for _, p := range c.Combine(nil, []communication.Member{sender, receiver}) {
		if p.Gaps != 0 || p.Slowdown != 1 || p.Show().CardPenalty == nil {
			t.Errorf("one sends, one receives: %+v", p)
		}
	}
	if p := c.Combine(nil, []communication.Member{receiver, receiver})[0]; p.Gaps != communication.BeyondModel {
		t.Errorf("two receive: %+v", p)
	}
}

func TestNewMachineRefuses(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.MachineProfileSpec){
		"spec.network":                  func(s *v1alpha1.MachineProfileSpec) { s.Network.Beta = nil },
		"spec.network.model":            func(s *v1alpha1.MachineProfileSpec) { s.Network.Model = "pigeons" },
		"spec.network.bytesPerSecond":   func(s *v1alpha1.MachineProfileSpec) { s.Network.BytesPerSecond = 0 },
		"spec.busSharing.local":         func(s *v1alpha1.MachineProfileSpec) { bus(s); s.BusSharing.Local.TotalCores = 0 },
		"local.leastCommunicationShare": func(s *v1alpha1.MachineProfileSpec) { bus(s); s.BusSharing.Local.LeastCommunicationShare = 0 },
	} {
		p := &v1alpha1.MachineProfile{}
		p.Spec.Network = &v1alpha1.Network{Model: network.NameGigabitEthernet, BytesPerSecond: gb, Beta: new(1.0)}
		change(&p.Spec)
		if _, err := communication.NewMachine(p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEquationAndRemarks(t *testing.T) {
	m := machine(t, bus)
	one := func(c *v1alpha1.Communication) communication.Parts {
		members := []communication.Member{{Load: m.Load(c), Memory: 1.25, Traffic: 10 * gb}, {Load: m.Load(sends(1, false)), Memory: 1, Traffic: 30 * gb}}
		return new(communication.Combiner).Combine(nil, members)[0]
	}
	for want, c := range map[string]*v1alpha1.Communication{
		"1.250 + 0.500·(2.000 − 1) = 1.750":       sends(0.5, false),
		"max(1.250, 0.500·2.000) = 1.250":         sends(0.5, true),
		"0.500·1.250 + 0.500·2.500·2.000 = 3.125": apart(sends(0.5, false)),
		"max(1.250, 0.500·2.500·2.000) = 2.500":   apart(sends(0.5, true)),
	} {
		if got := one(c).Equation(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	all := communication.Gap(math.MaxUint)
	remarks := all.Remarks("xz", "")
	if len(remarks) != 9 || !strings.Contains(strings.Join(remarks, "\n"), "bandmate machine network") {
		t.Errorf("%q", remarks)
	}
	if got := new(communication.Combiner).Combine(nil, []communication.Member{{Memory: 1.5}})[0]; got.Equation() != "" || got.Show() != nil {
		t.Errorf("one that does not communicate: %+v", got)
	}
}

// Whatever is combined, nobody gets faster than memory lets, and no more passes
// one side of the card than it carries.
func TestNoMoreThanTheCardCarries(t *testing.T) {
	m := machine(t)
	rapid.Check(t, func(t *rapid.T) {
		var members []communication.Member
		var rates []float64
		for range rapid.IntRange(1, 6).Draw(t, "members") {
			share := rapid.Float64Range(0, 1).Draw(t, "share")
			rates = append(rates, share)
			members = append(members, communication.Member{
				Load: m.Load(sends(share, rapid.Bool().Draw(t, "overlapped"))), Memory: units.Slowdown(rapid.Float64Range(1, 3).Draw(t, "memory")),
			})
		}
		var carried float64
		for i, p := range new(communication.Combiner).Combine(nil, members) {
			if p.Slowdown < p.Memory-1e-9 || math.IsNaN(float64(p.Slowdown)) || p.Slowdown > 3+6 {
				t.Fatalf("member %d: %+v", i, p)
			}
			carried += rates[i] / float64(p.Slowdown)
		}
		if carried > 1.01 {
			t.Errorf("%.4f of what the card carries", carried)
		}
	})
}

func TestLoadOfNothing(t *testing.T) {
	l := (*communication.Machine)(nil).Load(&v1alpha1.Communication{})
	if _, known := l.Share(); known || l.MachineName() != "" || l.Overlapped() {
		t.Errorf("%+v", l)
	}
}

func BenchmarkCombine(b *testing.B) {
	m := machine(b)
	for name, n := range map[string]int{"2": 2, "8": 8, "30": 30} {
		b.Run(name, func(b *testing.B) {
			var members []communication.Member
			for i := range n {
				members = append(members, communication.Member{Load: m.Load(sends(float64(i%5)/10, i%2 == 0)), Memory: 1.1})
			}
			var c communication.Combiner
			var parts []communication.Parts
			for b.Loop() {
				parts = c.Combine(parts[:0], members)
			}
		})
	}
}
