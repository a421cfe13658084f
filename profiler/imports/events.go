package imports

import (
	"maps"
	"regexp"
	"strings"
	"sync"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/units"
)

// family is a set of counters that sees all traffic of one kind of memory.
// Two families may see the same traffic, so they are never added.
type family string

// event describes a memory event.
type event struct {
	family family
	kind   catalog.Kind
	// bytesPerCount is used where the tool did not scale the count to bytes.
	bytesPerCount float64
	// spelling identifies names of the same counts: traffic under two spellings is
	// the same traffic twice. Empty for a name that adds to every other.
	spelling string
	// caution is a warning about every use of the event; empty for none.
	caution string
}

// The families are the sources of package catalog, and what these divide into by
// the traffic that is counted.
const (
	freeRunning family = catalog.IMC + "-free-running"
	hbm         family = "hbm"
	persistent  family = "persistent memory"
)

// preference returns the families in order of preference. The first one with
// complete counts is the memory's traffic.
func preference() []family {
	var list []family
	for _, source := range catalog.Sources() {
		list = append(list, family(source))
	}
	return append(list, freeRunning, hbm, persistent)
}

func familyOf(r catalog.Row) family {
	switch {
	case r.Memory == catalog.HBM:
		return hbm
	case r.Memory == catalog.Persistent:
		return persistent
	case r.FreeRunning:
		return freeRunning
	}
	return family(r.Source)
}

const oldFreeRunningScale = "the kernel's scale of the free-running read and write counters was 16 times too small in older kernels: compare the result with a known traffic"

// Spellings.
const (
	alias   = "kernel alias"
	listed  = "perf's table"
	metric  = "perf's llc_misses"
	encoded = "raw encoding"
	further = "" // Granite Rapids' second sub-channel beside an old alias
)

// deviceEvents are the events of a row of the catalog, as perf prints them:
// `uncore_imc_0/cas_count_read/` by the kernel's alias, `uncore_imc/event=4,umask=3/`
// by the fields of the encoding, of one box or of all together.
type deviceEvents struct {
	device  *regexp.Regexp
	named   map[string]*event
	encoded []encodedEvent
}

type encodedEvent struct {
	terms map[string]uint64
	event *event
}

func eventsOf(r catalog.Row) deviceEvents {
	device := strings.ReplaceAll(regexp.QuoteMeta(r.Device), `\*`, "[0-9a-f]+")
	device = strings.ReplaceAll(strings.ReplaceAll(device, "_#", `(?:_\d+)?`), "#", `\d+`)
	d := deviceEvents{device: regexp.MustCompile(`^` + device + `(?:_\d+)?$`), named: map[string]*event{}}
	for _, e := range r.Events {
		known := event{family: familyOf(r), kind: e.Kind, bytesPerCount: e.Bytes, spelling: alias, caution: r.Doubt}
		if r.FreeRunning {
			known.caution = oldFreeRunningScale
		}
		if e.Name != "" {
			named := known
			d.named[strings.ToLower(e.Name)] = &named
		}
		if terms, ok := termsOf(e.Terms); ok {
			known.spelling = encoded
			if strings.HasSuffix(e.Name, "_sch1") {
				known.spelling = further
			}
			d.encoded = append(d.encoded, encodedEvent{terms, &known})
		}
	}
	return d
}

// termsOf reads an encoding, in which the order says nothing.
func termsOf(text string) (map[string]uint64, bool) {
	list, err := sysfs.ParseTerms(text)
	if err != nil || len(list) == 0 {
		return nil, false
	}
	terms := map[string]uint64{}
	for _, t := range list {
		terms[t.Name] = t.Value
	}
	return terms, true
}

// allReads is all traffic on Skylake and only reads on Ice Lake, so it is not
// accepted.
const allReads = "event=0x04,umask=0x0f"

// find returns the event of what stands between the slashes.
func (d deviceEvents) find(what string, terms map[string]uint64) *event {
	if e, ok := d.named[what]; ok {
		return e
	}
	for _, e := range d.encoded {
		if maps.Equal(e.terms, terms) {
			return e.event
		}
	}
	return nil
}

// tableEvent is an event of perf's own tables (tools/perf/pmu-events/arch). Its name
// stands alone, or between slashes after the device: perf takes both, and prints the
// second for each box by itself (since 6.16).
type tableEvent struct {
	name *regexp.Regexp
	event
}

func tableEvents() []tableEvent {
	of := func(device, name string, f family, k catalog.Kind, spelling string) tableEvent {
		either := regexp.MustCompile(`^(?:` + name + `|` + device + `(?:_\d+)?/` + name + `/)$`)
		return tableEvent{either, event{family: f, kind: k, bytesPerCount: units.LineBytes, spelling: spelling}}
	}
	return []tableEvent{
		of(`uncore_imc`, `unc_m_cas_count(?:_sch\d)?\.rd`, catalog.IMC, catalog.Read, listed),
		of(`uncore_imc`, `unc_m_cas_count(?:_sch\d)?\.wr`, catalog.IMC, catalog.Write, listed),
		of(`uncore_imc`, `llc_misses\.mem_read`, catalog.IMC, catalog.Read, metric),
		of(`uncore_imc`, `llc_misses\.mem_write`, catalog.IMC, catalog.Write, metric),
		of(`uncore_imc_free_running`, `unc_mc[01]_rdcas_count_freerun`, catalog.IMCClient, catalog.Read, listed),
		of(`uncore_imc_free_running`, `unc_mc[01]_wrcas_count_freerun`, catalog.IMCClient, catalog.Write, listed),
		of(`amd_umc`, `umc_cas_cmd\.rd`, catalog.AMDUMC, catalog.Read, listed),
		of(`amd_umc`, `umc_cas_cmd\.wr`, catalog.AMDUMC, catalog.Write, listed),
		of(`amd_df`, `dram_channel_data_controller_[0-7]`, catalog.AMDDF, catalog.Total, listed),
	}
}

// dictionary finds events by name and remembers what it found.
type dictionary struct {
	devices []deviceEvents
	tables  []tableEvent
	found   map[string]*event // nil for another event
}

// maxRemembered bounds the memory of a dictionary in a file of ever new names.
const maxRemembered = 4096

// catalogEvents reads the catalog once.
var catalogEvents = sync.OnceValue(func() []deviceEvents {
	var devices []deviceEvents
	for _, r := range catalog.Rows() {
		devices = append(devices, eventsOf(r))
	}
	return devices
})

// find returns the memory event of a name as perf prints it; nil for any other.
func (d *dictionary) find(name string) *event {
	if e, ok := d.found[name]; ok {
		return e
	}
	e := d.lookUp(plainName(name))
	if len(d.found) < maxRemembered {
		d.found[name] = e
	}
	return e
}

// lookUp returns the event of a plain name; nil for another event, or for one that
// means different things on different processors.
func (d *dictionary) lookUp(name string) *event {
	for i := range d.tables {
		if d.tables[i].name.MatchString(name) {
			return &d.tables[i].event
		}
	}
	device, rest, isDevice := strings.Cut(name, "/")
	what, after, whole := strings.Cut(rest, "/")
	if !isDevice || !whole || after != "" {
		return nil
	}
	terms, ok := termsOf(what)
	if doubtful, _ := termsOf(allReads); ok && maps.Equal(terms, doubtful) {
		return nil
	}
	var found *event
	for _, box := range d.devices {
		if !box.device.MatchString(device) {
			continue
		}
		e := box.find(what, terms)
		switch {
		case e == nil:
		case found == nil:
			found = e
		case found.family != e.family || found.kind != e.kind:
			return nil
		}
	}
	return found
}

// plainName drops what perf adds to the name of an event: the box it counts in
// (`unc_m_cas_count.rd [uncore_imc_0]`), modifiers (`…/cas_count_read/u`), the device as
// it was asked for (`uncore_imc_0/uncore_imc,cas_count_read/`, since 6.16).
func plainName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), " [")
	if i := strings.LastIndexByte(name, '/'); i >= 0 && strings.Count(name, "/") == 2 {
		box, terms, _ := strings.Cut(name[:i+1], "/")
		asked := strings.TrimSuffix(strings.TrimRight(box, "0123456789"), "_")
		return box + "/" + strings.TrimPrefix(terms, asked+",")
	}
	if before, modifiers, found := strings.Cut(name, ":"); found && len(modifiers) <= 4 {
		return before
	}
	return name
}

var numberedBox = regexp.MustCompile(`_\d+(?:/|\])`)

// isOneBox reports whether a name stands for one counter box, so that two lines
// of it in one interval counted the same.
func isOneBox(name string) bool { return numberedBox.MatchString(name) }
