package catalog

import (
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// Platform is what decides which rows fit.
type Platform struct {
	Processor sysfs.Processor
	// Sockets of the machine, at least 1.
	Sockets int
	// Has reports whether a file exists under /sys; nil means none does.
	Has func(name string) bool
}

// Choice is a device with the row that reads it.
type Choice struct {
	Device sysfs.Device
	Row    Row
	// Events are those of the row that are read on this machine, and Codes how,
	// in the same order.
	Events []Event
	Codes  []sysfs.Code
	// Notes say where the kernel and the table disagree; the table is followed.
	Notes []string
}

// Rejected is a device that a row of a source names but that cannot be read.
type Rejected struct {
	Source, Device, Reason string
}

// Matcher finds rows by the names of devices.
type Matcher struct {
	rows     []Row
	patterns []func(string) bool
}

// NewMatcher prepares a table, usually [Rows].
func NewMatcher(rows []Row) *Matcher {
	m := &Matcher{rows: rows}
	for _, r := range rows {
		m.patterns = append(m.patterns, pattern(r.Device).MatchString)
	}
	return m
}

// Knows reports whether any row names the device, so that it is worth reading.
func (m *Matcher) Knows(device string) bool {
	return slices.ContainsFunc(m.patterns, func(is func(string) bool) bool { return is(device) })
}

// purpose is what at most one row may read of a device.
type purpose struct {
	source string
	memory Memory
}

// Choose finds the best row for every device, source and memory: a row for this
// processor, else one whose codes equal the kernel's, else one whose events the
// kernel names. Free-running counters are left out beside regular ones of the same
// source, because both count the same traffic.
func (m *Matcher) Choose(devices []sysfs.Device, p Platform) ([]Choice, []Rejected) {
	var chosen []Choice
	var rejected []Rejected
	for _, d := range devices {
		best := map[purpose]Choice{}
		ranks := map[purpose]int{}
		reasons := map[string]string{}
		var order []purpose
		for i, r := range m.rows {
			if !m.patterns[i](d.Name) || r.Requires != "" && (p.Has == nil || !p.Has(r.Requires)) {
				continue
			}
			choice, rank, err := fit(d, r, p)
			key := purpose{r.Source, r.Memory}
			switch {
			case err != nil:
				reasons[r.Source] = err.Error()
			case ranks[key] == 0:
				order = append(order, key)
				best[key], ranks[key] = choice, rank
			case rank > ranks[key]:
				best[key], ranks[key] = choice, rank
			}
		}
		for _, key := range order {
			chosen = append(chosen, best[key])
			delete(reasons, key.source)
		}
		for _, source := range Sources() {
			if reason, ok := reasons[source]; ok {
				rejected = append(rejected, Rejected{Source: source, Device: d.Name, Reason: reason})
			}
		}
	}
	return withoutTwice(chosen), rejected
}

// withoutTwice drops free-running counters beside regular ones.
func withoutTwice(all []Choice) []Choice {
	regular := map[purpose]bool{}
	for _, c := range all {
		if !c.Row.FreeRunning {
			regular[purpose{c.Row.Source, c.Row.Memory}] = true
		}
	}
	return slices.DeleteFunc(all, func(c Choice) bool {
		return c.Row.FreeRunning && regular[purpose{c.Row.Source, c.Row.Memory}]
	})
}

// Ranks of a fit.
const (
	named = iota + 1
	agreeing
	ofProcessor
)

func fit(d sysfs.Device, r Row, p Platform) (Choice, int, error) {
	c := Choice{Device: d, Row: r}
	ours := r.runsOn(p.Processor)
	rank := agreeing
	for _, e := range r.Events {
		if e.Remote && p.Sockets < 2 {
			continue
		}
		code, agrees, err := resolve(d, r, e, ours)
		if err != nil {
			return Choice{}, 0, err
		}
		if !agrees {
			rank = named
			if ours {
				c.Notes = append(c.Notes, fmt.Sprintf("the kernel's code of %s is not that of %s; %s is used", e.Name, r.Platform, e.Terms))
			}
		}
		if bytes, ok := d.Events[e.Name].Bytes(); ok && math.Abs(bytes-e.Bytes) > 0.01*e.Bytes {
			c.Notes = append(c.Notes, fmt.Sprintf("by the kernel's scale a count of %s is %.4g bytes; on %s it is %g, which is used", e.Name, bytes, r.Platform, e.Bytes))
		}
		c.Events, c.Codes = append(c.Events, e), append(c.Codes, code)
	}
	if ours {
		rank = ofProcessor
	}
	return c, rank, nil
}

// resolve returns the code of an event, and whether kernel and table agree on it.
// The table wins on a processor that the row names, elsewhere the kernel does.
func resolve(d sysfs.Device, r Row, e Event, ours bool) (code sysfs.Code, agrees bool, err error) {
	kernel, isNamed := d.Events[e.Name]
	switch {
	case isNamed:
		code, err = d.Encode(kernel.Terms)
		if e.Terms == "" {
			return code, true, err
		}
		table, tableErr := d.Encode(e.Terms)
		if ours && tableErr == nil {
			return table, err == nil && code == table, nil
		}
		return code, tableErr == nil && code == table, err
	case e.Terms != "" && (ours || e.Name == "" && r.CPUs == nil):
		code, err = d.Encode(e.Terms)
		return code, true, err
	case e.Name == "":
		return sysfs.Code{}, false, fmt.Errorf("which of its events count memory traffic is not known for this processor (known: %s)", r.Platform)
	}
	return sysfs.Code{}, false, fmt.Errorf("the kernel names no event %s", e.Name)
}
