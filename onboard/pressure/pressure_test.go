package pressure

import (
	"testing"

	"bandmate.dev/bandmate/interferer"
)

func TestSeveralInterferers(t *testing.T) {
	for _, c := range []struct {
		level       float64
		interferers int
		first       interferer.Setting
		others      interferer.Setting
	}{
		{0.5, 2, interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Bandwidth: 5e9}, interferer.Setting{Mode: interferer.Spin}},
		{1, 2, interferer.Setting{Mode: interferer.Stream, ReadShare: 1}, interferer.Setting{Mode: interferer.Spin}},
		{2, 2, interferer.Setting{Mode: interferer.Stream, ReadShare: 1}, interferer.Setting{Mode: interferer.Stream, ReadShare: 1}},
		{2.5, 4, interferer.Setting{Mode: interferer.Stream, ReadShare: 1}, interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Bandwidth: 15e9}},
	} {
		m, err := New(Pressure{ReadShare: 1, Level: c.level}, c.interferers, 10e9)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Settings(); got.First != c.first || got.Others != c.others {
			t.Errorf("at %v: %+v, want %+v and %+v", c.level, got, c.first, c.others)
		}
	}
	if m, err := New(Pressure{ReadShare: 1, Level: 3}, 2, 10e9); err == nil {
		t.Errorf("a level of 3 by two interferers: %+v", m)
	}
	if got := SettingsOf(interferer.Setting{Mode: interferer.Idle}).Others.Mode; got != interferer.Idle {
		t.Errorf("others %s beside an idle one", got)
	}
}

func TestProbes(t *testing.T) {
	all := WithProbes(nil)
	if len(all) == 0 || len(WithProbes(all)) != len(all) {
		t.Fatalf("probes %v, %v among them", all, WithProbes(all))
	}
	for _, p := range all {
		if name, ok := p.Probe(); !ok {
			t.Errorf("%v is the probe %q", p, name)
		}
		p.Level = 0.5
		if name, ok := p.Probe(); ok {
			t.Errorf("%v is the probe %q", p, name)
		}
	}
}
