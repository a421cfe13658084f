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

// direction is what an event counts.
type direction int

const (
	reads direction = iota
	writes
	both // reads and writes in one count
)

func (d direction) flow(bytes float64) flow {
	switch d {
	case reads:
		return flow{read: bytes}
	case writes:
		return flow{write: bytes}
	default:
		return flow{whole: bytes}
	}
}

// family is a set of counters that sees all traffic of one kind of memory.
// Two families may see the same traffic, so they are never added.
type family string

// event is what is known of a memory event.
type event struct {
	family    family
	direction direction
	// bytesPerCount is used where the tool did not scale the count to bytes.
	bytesPerCount float64
	// spelling tells names of the same counts apart: traffic under two spellings
	// is the same traffic twice. Empty for a name that adds to every other.
	spelling string
	// caution is a warning about every use of the event; empty for none.
	caution string
}

// families in order of preference: the first one with complete counts is the
// memory's traffic, the others are kept apart. They are the sources of package
// catalog, divided by what counts the same traffic.
const (
	imc         family = catalog.IMC
	amdUMC      family = catalog.AMDUMC
	freeRunning family = catalog.IMC + "-free-running"
	client      family = catalog.IMCClient
	scf         family = catalog.NvidiaSCF
	hisi        family = catalog.HiSiDDRC
	powerNest   family = catalog.PowerNest
	dmc620      family = catalog.DMC620
	amdDF       family = catalog.AMDDF
	cmn         family = catalog.ArmCMN
	hbm         family = "hbm"
	persistent  family = "persistent memory"
)

func preference() []family {
	return []family{imc, amdUMC, freeRunning, client, scf, hisi, powerNest, dmc620, amdDF, cmn, hbm, persistent}
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

func directionOf(k catalog.Kind) direction {
	switch k {
	case catalog.Read:
		return reads
	case catalog.Write:
		return writes
	case catalog.Total:
	}
	return both
}

const oldFreeRunningScale = "the kernel's scale of the free-running read and write counters was 16 times too small in older kernels: compare the result with a known traffic"

// Spellings.
const (
	alias   = "kernel alias"
	table   = "perf's table"
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
		known := event{family: familyOf(r), direction: directionOf(e.Kind), bytesPerCount: e.Bytes, spelling: alias, caution: r.Doubt}
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

// allReads is all traffic on Skylake, and reads alone on Ice Lake, so it tells
// neither.
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

// tableEvent is an event of perf's own tables (tools/perf/pmu-events/arch),
// whose names tell no device.
type tableEvent struct {
	name *regexp.Regexp
	event
}

func tableEvents() []tableEvent {
	of := func(name string, f family, d direction, spelling string) tableEvent {
		return tableEvent{regexp.MustCompile(`^(?:` + name + `)$`), event{family: f, direction: d, bytesPerCount: units.LineBytes, spelling: spelling}}
	}
	return []tableEvent{
		of(`unc_m_cas_count(?:_sch\d)?\.rd`, imc, reads, table),
		of(`unc_m_cas_count(?:_sch\d)?\.wr`, imc, writes, table),
		of(`llc_misses\.mem_read`, imc, reads, metric),
		of(`llc_misses\.mem_write`, imc, writes, metric),
		of(`unc_mc[01]_rdcas_count_freerun`, client, reads, table),
		of(`unc_mc[01]_wrcas_count_freerun`, client, writes, table),
		of(`umc_cas_cmd\.rd`, amdUMC, reads, table),
		of(`umc_cas_cmd\.wr`, amdUMC, writes, table),
		of(`dram_channel_data_controller_[0-7]`, amdDF, both, table),
	}
}

// known are all events.
type known struct {
	devices []deviceEvents
	tables  []tableEvent
}

// knownEvents reads the catalog once.
var knownEvents = sync.OnceValue(func() known {
	k := known{tables: tableEvents()}
	for _, r := range catalog.Rows() {
		k.devices = append(k.devices, eventsOf(r))
	}
	return k
})

// find returns the event of a plain name; nil when it is none, or is one thing
// on one processor and another on the next.
func (k known) find(name string) *event {
	device, rest, isDevice := strings.Cut(name, "/")
	what, after, whole := strings.Cut(rest, "/")
	if !isDevice || !whole || after != "" {
		for i := range k.tables {
			if k.tables[i].name.MatchString(name) {
				return &k.tables[i].event
			}
		}
		return nil
	}
	terms, ok := termsOf(what)
	if doubtful, _ := termsOf(allReads); ok && maps.Equal(terms, doubtful) {
		return nil
	}
	var found *event
	for _, d := range k.devices {
		if !d.device.MatchString(device) {
			continue
		}
		e := d.find(what, terms)
		switch {
		case e == nil:
		case found == nil:
			found = e
		case found.family != e.family || found.direction != e.direction:
			return nil
		}
	}
	return found
}

// dictionary finds events by name and remembers what it found.
type dictionary struct {
	known
	found map[string]*event // nil for a name that is none
}

// maxRemembered bounds the memory of a dictionary in a file of ever new names.
const maxRemembered = 4096

func newDictionary() *dictionary {
	return &dictionary{known: knownEvents(), found: map[string]*event{}}
}

// find returns the event of a name as perf prints it; nil when it is no memory
// event that is known.
func (d *dictionary) find(name string) *event {
	if e, ok := d.found[name]; ok {
		return e
	}
	e := d.known.find(plainName(name))
	if len(d.found) < maxRemembered {
		d.found[name] = e
	}
	return e
}

// plainName drops what perf adds to the name of an event: the box it counts in
// (`unc_m_cas_count.rd [uncore_imc_0]`), modifiers (`…/cas_count_read/u`).
func plainName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), " [")
	if i := strings.LastIndexByte(name, '/'); i >= 0 && strings.Count(name, "/") == 2 {
		return name[:i+1]
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
