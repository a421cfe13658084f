package doctor

import "testing"

func TestVerdict(t *testing.T) {
	finding := func(name string, state State) Finding {
		return Finding{name, name, Outcome{State: state, Detail: "why"}}
	}
	for _, test := range []struct {
		report Report
		want   string
	}{
		{
			Report{Measurable: true, Findings: []Finding{finding("cpus", OK), finding("source-imc", Missing), finding("source-probe", OK)}},
			"Applications can be measured here; traffic is inferred by probes",
		},
		{
			Report{Measurable: true, Findings: []Finding{finding("noise", Limited), finding("source-imc", OK), finding("source-llc-miss", OK), finding("source-probe", OK)}},
			"Applications can be measured here; traffic is counted by imc; 1 limit",
		},
		{
			Report{Measurable: true, Findings: []Finding{finding("noise", Limited), finding("regime", Limited), finding("source-probe", OK)}},
			"Applications can be measured here; traffic is inferred by probes; 2 limits",
		},
		{Report{Findings: []Finding{finding("cpus", Missing), finding("source-probe", Missing)}}, "Nothing can be measured here: why"},
	} {
		r := test.report
		if r.Conclude(); r.Verdict != test.want {
			t.Errorf("%q, want %q", r.Verdict, test.want)
		}
	}
}
