package slurm

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/units"
)

func TestParseLabel(t *testing.T) {
	for _, test := range []struct {
		comment, application string
		limit                units.Slowdown
		faults               int
	}{
		{"bandmate=lammps", "lammps", 0, 0},
		{"project x, bandmate=lammps; other=1", "lammps", 0, 0},
		{"bandmate=lammps bandmate-limit=1.15", "lammps", 1.15, 0},
		{"bandmate-limit=1.2x", "", 1.2, 0},
		{"bandmate=first bandmate=second", "first", 0, 0},
		{"", "", 0, 0},
		{"nobandmate=x", "", 0, 0},
		{"bandmate=", "", 0, 1},
		{"bandmate=$(reboot)", "", 0, 1},
		{"bandmate=a|b", "", 0, 1},
		{"bandmate=../../etc/passwd", "", 0, 1},
		{"bandmate=" + strings.Repeat("x", 300), "", 0, 1},
		{"bandmate-limit=0.9", "", 0, 1},
		{"bandmate-limit=NaN", "", 0, 1},
		{"bandmate-limit=Inf", "", 0, 1},
		{"bandmate=lammps\nbandmate-limit=1.5", "lammps", 1.5, 0},
	} {
		got := ParseLabel(test.comment)
		if got.Application != test.application || got.Limit != test.limit || len(got.Faults) != test.faults {
			t.Errorf("%.40q: %+v", test.comment, got)
		}
	}
}

const siteText = `apiVersion: bandmate.dev/v1alpha1
kind: SlurmSite
applications:
- {job: "lmp-*", user: alice, application: lammps}
- {job: "lmp-*", application: other}
- {job: "a/b?", application: slashed}
nodes:
- {nodes: "n[01-02]", machine: blade, domain: pool}
- {nodes: n03, machine: blade}
`

func TestSite(t *testing.T) {
	s, err := ParseSite([]byte(siteText))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		job                 Job
		application, source string
	}{
		{Job{Name: "lmp-1", User: "alice", Comment: "bandmate=said"}, "said", "comment"},
		{Job{Name: "lmp-1", User: "alice"}, "lammps", "site file"},
		{Job{Name: "lmp-1", User: "bob"}, "other", "site file"},
		{Job{Name: "a/b1"}, "slashed", "site file"},
		{Job{Name: "stream"}, "stream", "job name"},
		{Job{Name: "Run Me.sh"}, "", ""},
		{Job{Name: "x", Comment: "bandmate=$(id)"}, "x", "job name"},
	} {
		if name, source := s.application(&test.job); name != test.application || source != test.source {
			t.Errorf("%+v: %q by %q, want %q by %q", test.job, name, source, test.application, test.source)
		}
	}
	for _, test := range []struct {
		node            Node
		domain, machine string
	}{
		{Node{Name: "n01"}, "pool", "blade"},
		{Node{Name: "n03"}, "n03", "blade"},
		{Node{Name: "n04"}, "n04", ""},
		{Node{Name: "n01", Features: []string{"bandmate-domain=cxl0", "bandmate-machine=twin"}}, "cxl0", "twin"},
		{Node{Name: "n04", Features: []string{"bandmate-domain="}}, "n04", ""},
	} {
		if domain, machine := s.Domain(&test.node), s.Machine(&test.node); domain != test.domain || machine != test.machine {
			t.Errorf("%+v: %q, %q; want %q, %q", test.node, domain, machine, test.domain, test.machine)
		}
	}
}

// Of names that rules give whole, those count whose first rule is for every user.
func TestNamesOfSite(t *testing.T) {
	s, err := ParseSite([]byte(`apiVersion: bandmate.dev/v1alpha1
kind: SlurmSite
applications:
- {job: nightly.sh, user: alice, application: hers}
- {job: nightly.sh, application: stream}
- {job: "lmp-*", application: lammps}
- {job: lmp-1, application: other}
- {job: solver, application: cg}
- {job: solver, user: bob, application: his}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"lmp-1": "lammps", "solver": "cg"}
	if got := s.Names(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestParseSiteFaults(t *testing.T) {
	head := "apiVersion: bandmate.dev/v1alpha1\nkind: SlurmSite\n"
	for text, want := range map[string]string{
		"":                                       "want bandmate.dev/v1alpha1 and SlurmSite",
		"{":                                      "site file",
		"text":                                   "line 1: string: want fields with names",
		head + "nodez: []":                       `line 3: unknown field "nodez"`,
		head + "nodes: [{nodes: n1, domain: 3}]": "line 3: nodes[0].domain: number: want text (put it in quotes)",
		head + "\nleastLimit: .nan":              "line 4: .nan is not a number",
		head + "\nleastLimit: 0.5":               "line 4: leastLimit 0.5: want a slowdown of 1 or more",
		head + "applications: [{job: '[', application: x}]":                    "applications[0]",
		head + "applications: [{application: x}]":                              "job is empty",
		head + "applications: [{job: x, application: 'a b'}]":                  "name of a profile",
		head + "nodes: [{nodes: 'n[1', domain: x}]":                            "line 3: nodes[0]: host list",
		head + "nodes: [{nodes: n1}]":                                          "want a machine",
		head + "nodes: [{nodes: n1, domain: x}, {nodes: 'n[1-2]', domain: z}]": "line 3: nodes[1]: n1 is x already",
	} {
		if _, err := ParseSite([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want: %s", text, err, want)
		}
	}
	_, err := ParseSite([]byte(head + "nodes: [{nodes: n1}, {nodes: ''}]"))
	if err == nil || !strings.Contains(err.Error(), "nodes[0]") || !strings.Contains(err.Error(), "nodes[1]") {
		t.Errorf("not every fault is reported: %v", err)
	}
}

func TestPendingTasks(t *testing.T) {
	for text, want := range map[string]int{
		"": 1, "5": 1, "0-9": 10, "0-9:2": 5, "1,3,5-6": 4, "0-9%3": 3, "0-99999999": 64, "1-3,...": 4, "x": 1, "9-1": 1, "0-9%0": 10,
	} {
		if got := pendingTasks(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestLeastLimit checks that a user cannot lock others out by a limit that nobody can
// keep.
func TestLeastLimit(t *testing.T) {
	site, err := ParseSite([]byte("apiVersion: bandmate.dev/v1alpha1\nkind: SlurmSite\nleastLimit: 1.3\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(2, Job{State: Running, Comment: "bandmate=plain bandmate-limit=1", CPUs: 1, Nodes: []string{"n1"}}, runs("quiet", 8, "n2"))
	for _, test := range []struct {
		site     *Site
		exceeded int
	}{{&Site{}, 1}, {site, 0}} {
		advice, err := (&Advisor{Site: test.site, Advisor: known(t)}).Advise(c, wants("writer", 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(advice.Candidates, func(c Candidate) bool { return c.Node == "n1" })
		if got := advice.Candidates[at]; got.OverLimit != test.exceeded {
			t.Errorf("least limit %v: %d over their limits, want %d: %s", test.site.leastLimit, got.OverLimit, test.exceeded, got.Reason)
		}
	}
	j := Job{ID: 3, State: Pending, CPUs: 1, Comment: "bandmate=plain bandmate-limit=1.01"}
	advice, err := (&Advisor{Site: site, Advisor: known(t)}).Advise(c, site.Request(&j))
	if err != nil || !strings.Contains(strings.Join(advice.Warnings, "\n"), "bandmate-limit=1.01 counts as 1.3") {
		t.Errorf("%v, warnings %q", err, advice.Warnings)
	}
	for _, wrong := range []string{"0.9", ".inf", "-1"} {
		if _, err := ParseSite([]byte("apiVersion: bandmate.dev/v1alpha1\nkind: SlurmSite\nleastLimit: " + wrong + "\n")); err == nil {
			t.Errorf("leastLimit: %s is taken", wrong)
		}
	}
}

func TestNodeAvailable(t *testing.T) {
	const never, later, now = 0, 1, 2 // may start; may start at once
	for state, want := range map[string]int{
		"idle": now, "mixed": now, "allocated": now, "completing": now, "idle@": now, "": now,
		"idle~": later, "idle#": later, "planned": later, "mixed-": later, "powering_up": later, "powered_down": later,
		"new-in-26": never, "inval": never, "reserved": never, "maint": never, "blocked": never, "reboot^": never, "perfctrs": never,
		"down": never, "down*": never, "idle*": never, "drained": never, "draining": never, "mixed$": never, "idle%": never, "idle!": never,
		"fail": never, "failing": never, "future": never, "unknown": never, "powering_down": never,
	} {
		var n Node
		n.setState(textState(state))
		if n.Available() != (want > never) || (want > never && n.startsNow() != (want == now)) {
			t.Errorf("%s: available %v, starts now %v, want %d (%+v)", state, n.Available(), n.startsNow(), want, n)
		}
	}
}

// TestReservedNode checks that only a job that names the reservation of a node can
// start there, also where other jobs run on it.
func TestReservedNode(t *testing.T) {
	for state, holds := range map[string]bool{
		"IDLE+RESERVED": true, "MIXED+RESERVED": true, "IDLE+MAINT+RESERVED": true,
		"IDLE+RESERVED+DRAIN": false, "IDLE+RESERVED+INVALID_REG": false,
	} {
		nodes := map[string]*Node{"n1": {Name: "n1"}}
		scontrolNodes([]byte("NodeName=n1 CPUAlloc=0 State="+state+" ThreadsPerCore=1 ReservationName=maint\n"), nodes)
		n := nodes["n1"]
		if n.Available() || n.AvailableTo("other") || n.AvailableTo("maint") != holds {
			t.Errorf("%s: available %v, to another reservation %v, to its own %v, want false, false, %v",
				state, n.Available(), n.AvailableTo("other"), n.AvailableTo("maint"), holds)
		}
	}
}

func FuzzParseLabel(f *testing.F) {
	f.Add("bandmate=lammps bandmate-limit=1.15")
	f.Fuzz(func(t *testing.T, comment string) {
		l := ParseLabel(comment)
		if l.Application != "" && !ValidApplication(l.Application) {
			t.Fatalf("%q", l.Application)
		}
		if l.Limit != 0 && !(l.Limit >= 1) {
			t.Fatalf("%v", l.Limit)
		}
	})
}

func FuzzParseSite(f *testing.F) {
	f.Add([]byte(siteText))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSite(data)
		if err != nil {
			return
		}
		if s.Domain(&Node{Name: "n01"}) == "" {
			t.Fatal("a node without a domain")
		}
		s.Application(&Job{Name: "x"})
	})
}
