package cluster

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/units"
)

// Verdict is the scheduler's evaluation of a node, as it is printed.
type Verdict struct {
	Node    string `json:"node"`
	Domain  string `json:"memoryDomain"`
	Machine string `json:"machine,omitempty"`
	// Here is true for the node that the pod is on.
	Here          bool `json:"here,omitempty"`
	Unschedulable bool `json:"unschedulable,omitempty"`
	Rejected      bool `json:"rejected"`
	// Unverifiable is why a limit cannot be checked there, where the scheduler keeps pods
	// away for that.
	Unverifiable string       `json:"unverifiable,omitempty"`
	Avoided      bool         `json:"avoided,omitempty"`
	Cost         float64      `json:"cost"`
	Slowdown     float64      `json:"slowdown"`
	Profile      profileState `json:"profile"`
	// Service is about a pod of a service with a demand; absent for others.
	Service *servingVerdict `json:"service,omitempty"`
	// Parts are the components of the slowdown; absent where the application is not
	// known to communicate.
	Parts     *communication.Shown `json:"parts,omitempty"`
	Residents []residentVerdict    `json:"residents"`
	// BackgroundBytesPerSecond is what was measured of pods without a profile;
	// absent where nothing was measured.
	BackgroundBytesPerSecond *float64 `json:"backgroundBytesPerSecond,omitempty"`

	// seen is what all of this was taken from.
	seen view.Verdict
}

// profileState is what is known of an application.
type profileState struct {
	State   advisor.State `json:"state"`
	Reason  string        `json:"reason,omitempty"`
	Machine string        `json:"machine,omitempty"`
}

// servingVerdict is how a service fares; the names are those of `bandmate predict -o json`.
type servingVerdict struct {
	// Load is in requests per second; LoadAssumed is true if it was not specified.
	Load        float64 `json:"load"`
	LoadAssumed bool    `json:"loadAssumed,omitempty"`
	// P99BesideSeconds is absent where the load is above saturation, or no latencies
	// were measured.
	P99BesideSeconds *float64 `json:"p99BesideSeconds,omitempty"`
	MaxP99Seconds    float64  `json:"maxP99Seconds,omitempty"`

	words string
}

func servingOf(e advisor.Entry, slowdown units.Slowdown) *servingVerdict {
	v := e.Serving
	if v == nil {
		return nil
	}
	shown := &servingVerdict{Load: v.Load, LoadAssumed: v.Assumed, MaxP99Seconds: v.MaxP99.Seconds(), words: e.Served(slowdown)}
	if p99, err := v.P99(slowdown); err == nil {
		shown.P99BesideSeconds = &p99
	}
	return shown
}

// residentVerdict is what the placement does to one pod.
type residentVerdict struct {
	Pod         string       `json:"pod"`
	Namespace   string       `json:"namespace"`
	Node        string       `json:"node"`
	Application string       `json:"application,omitempty"`
	Profile     profileState `json:"profile"`
	Before      float64      `json:"before"`
	After       float64      `json:"after"`
	Limit       float64      `json:"limit,omitempty"`
	OverLimit   bool         `json:"overLimit,omitempty"`
	// Service is as for the newcomer.
	Service *servingVerdict `json:"service,omitempty"`
	// Parts are what After is made of, as for the newcomer.
	Parts *communication.Shown `json:"parts,omitempty"`
}

func stateOf(e advisor.Entry) profileState { return profileState{e.State, e.Reason, e.Machine} }

func printable(v view.Verdict, here string) Verdict {
	p := Verdict{
		Node: v.Node, Domain: v.Score.Domain, Machine: v.Machine, Here: v.Node == here, Unschedulable: v.Unschedulable,
		Rejected: v.Rejected(), Unverifiable: v.Unverifiable, Avoided: v.Score.Avoided, Cost: v.Score.Cost,
		Slowdown: float64(v.Score.Newcomer.After), Profile: stateOf(v.Newcomer), Parts: v.Score.Newcomer.Parts.Show(), Residents: []residentVerdict{},
		Service: servingOf(v.Newcomer, v.Score.Newcomer.After),
		seen:    v,
	}
	if v.Background != nil {
		total := float64(v.Background.Total())
		p.BackgroundBytesPerSecond = &total
	}
	for i, r := range v.Residents {
		e := v.Score.Residents[i]
		p.Residents = append(p.Residents, residentVerdict{
			Pod: r.Name, Namespace: r.Namespace, Node: r.Node, Application: r.Application, Profile: stateOf(*r.Entry),
			Before: float64(e.Before), After: float64(e.After), Limit: float64(r.Limit), OverLimit: e.OverLimit(), Parts: e.Parts.Show(),
			Service: servingOf(*r.Entry, e.After),
		})
	}
	return p
}

// why returns the remarks about the node, in a few words.
func (v Verdict) why() string {
	var parts []string
	if v.Here {
		parts = append(parts, "here")
	}
	if v.Unschedulable {
		parts = append(parts, "cordoned")
	}
	switch {
	case v.Unverifiable != "":
		parts = append(parts, "a limit cannot be checked")
	case v.Rejected:
		parts = append(parts, "beyond a limit")
	}
	if v.Service != nil {
		parts = append(parts, v.Service.words)
	}
	if v.Avoided {
		parts = append(parts, "avoided")
	}
	if v.Profile.State != advisor.Known {
		parts = append(parts, string(v.Profile.State))
	}
	unknown := 0
	for _, r := range v.Residents {
		if r.unknown() {
			unknown++
		}
	}
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d unknown", unknown))
	}
	return strings.Join(parts, ", ")
}

// mostAffected is how many neighbors a line names.
const mostAffected = 2

// neighbors names those that the placement hurts most.
func (v Verdict) neighbors() string {
	if len(v.Residents) == 0 {
		return "nobody"
	}
	residents := slices.Clone(v.Residents)
	slices.SortStableFunc(residents, func(a, b residentVerdict) int {
		switch {
		case a.After-a.Before > b.After-b.Before:
			return -1
		case a.After-a.Before < b.After-b.Before:
			return 1
		}
		return 0
	})
	var parts []string
	for _, r := range residents[:min(mostAffected, len(residents))] {
		parts = append(parts, r.text())
	}
	if more := len(residents) - mostAffected; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func (r residentVerdict) unknown() bool { return isUnknown(r.Profile.State) }

// isUnknown reports whether a slowdown would be of what is assumed of a pod.
func isUnknown(s advisor.State) bool { return s == advisor.Unknown || s == advisor.Invalid }

func (r residentVerdict) text() string {
	if r.unknown() {
		return fmt.Sprintf("%s %s", r.Pod, r.Profile.State)
	}
	return fmt.Sprintf("%s %s → %s", r.Pod, units.Slowdown(r.Before), units.Slowdown(r.After))
}

func slowdownText(v Verdict) string {
	if isUnknown(v.Profile.State) {
		return "unknown"
	}
	return units.Slowdown(v.Slowdown).String()
}

// verdictTable ranks nodes, best first.
func verdictTable(verdicts []Verdict) *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "node"},
		{Title: "slowdown", Numeric: true},
		{Title: "cost", Numeric: true},
		{Title: "neighbors"},
		{Title: "remarks"},
	}}
	for _, v := range verdicts {
		slowdown := v.Slowdown
		if isUnknown(v.Profile.State) {
			slowdown = math.NaN() // what is taken for an unknown pod is no prediction
		}
		table.Add(report.Text(v.Node), report.Number(slowdownText(v), slowdown),
			report.Number(fmt.Sprintf("%.3f", v.Cost), v.Cost), report.Text(v.neighbors()), report.Text(v.why()))
	}
	return table
}

// writeVerdict shows one node with all its pods.
func writeVerdict(a *cli.App, w io.Writer, v Verdict) error {
	domain := ""
	if v.Domain != v.Node {
		domain = ", memory domain " + sanitize(v.Domain)
	}
	machine := "no machine label"
	if v.Machine != "" {
		machine = "machine " + sanitize(v.Machine)
	}
	fmt.Fprintf(w, "%s (%s%s): slowdown %s, cost %.3f\n", sanitize(v.Node), machine, domain, slowdownText(v), v.Cost)
	if v.Profile.Reason != "" {
		fmt.Fprint(w, report.Paragraph("  ", "profile "+string(v.Profile.State)+": "+sanitize(v.Profile.Reason), a.Canvas()))
	}
	if v.Unverifiable != "" {
		fmt.Fprint(w, report.Paragraph("  ", "a limit cannot be checked: "+sanitize(v.Unverifiable), a.Canvas()))
	}
	if v.Service != nil {
		fmt.Fprint(w, report.Paragraph("  ", v.Service.words, a.Canvas()))
	}
	if v.Parts != nil {
		var b strings.Builder
		cli.WriteParts(&b, v.Parts)
		fmt.Fprint(w, b.String())
	}
	if v.BackgroundBytesPerSecond != nil {
		fmt.Fprintf(w, "  measured beside the pods with profiles: %s\n", units.Bandwidth(*v.BackgroundBytesPerSecond))
	}
	if len(v.Residents) == 0 {
		_, err := fmt.Fprintln(w, "  no other pod with a profile is there")
		return err
	}
	table := &report.Table{Columns: []report.Column{
		{Title: "neighbor"}, {Title: "application"}, {Title: "before", Numeric: true}, {Title: "after", Numeric: true}, {Title: "limit", Numeric: true}, {Title: "profile"},
	}}
	for _, r := range v.Residents {
		limit := ""
		if r.Limit != 0 {
			limit = units.Slowdown(r.Limit).String()
		}
		state := string(r.Profile.State)
		if r.OverLimit {
			state = "beyond its limit, " + state
		}
		if r.Service != nil {
			state += ", " + r.Service.words
		}
		before, after := r.Before, r.After
		if r.unknown() { // what is assumed of it is no prediction
			before, after = math.NaN(), math.NaN()
		}
		table.Add(report.Text(r.Namespace+"/"+r.Pod), report.Text(r.Application),
			report.Number(units.Slowdown(before).String(), before), report.Number(units.Slowdown(after).String(), after),
			report.Number(limit, r.Limit), report.Text(state))
	}
	if err := table.Write(w, a.Canvas()); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, r := range v.Residents {
		if reason := r.Profile.Reason; reason != "" && !told[reason] {
			told[reason] = true
			fmt.Fprint(w, report.Paragraph("  ", string(r.Profile.State)+": "+sanitize(reason), a.Canvas()))
		}
	}
	return nil
}
