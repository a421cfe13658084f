package imports

import (
	"regexp"
	"strings"
	"sync"

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
// memory's traffic, the others are kept apart.
const (
	imc         family = "imc"
	amdUMC      family = "amd-umc"
	freeRunning family = "imc-free-running"
	client      family = "imc-client"
	scf         family = "nvidia-scf"
	hisi        family = "hisi-ddrc"
	powerNest   family = "power-nest"
	amdDF       family = "amd-df"
	cmn         family = "arm-cmn"
	hbm         family = "hbm"
)

func preference() []family {
	return []family{imc, amdUMC, freeRunning, client, scf, hisi, powerNest, amdDF, cmn, hbm}
}

const oldFreeRunningScale = "the kernel's scale of the free-running read and write counters was 16 times too small in older kernels: compare the result with a known traffic"

// eventPattern recognizes an event by the name that perf prints: the kernel's
// alias (`uncore_imc_0/cas_count_read/`), that of perf's own tables
// (`unc_m_cas_count.rd`) or the raw encoding.
type eventPattern struct {
	name *regexp.Regexp
	event
}

// Spellings.
const (
	alias   = "kernel alias"
	table   = "perf's table"
	metric  = "perf's llc_misses"
	encoded = "raw encoding"
	further = "" // Granite Rapids' second sub-channel beside an old alias
)

func pattern(name string, f family, d direction, bytesPerCount float64, spelling string) eventPattern {
	return eventPattern{
		name:  regexp.MustCompile(`^(?:` + name + `)$`),
		event: event{family: f, direction: d, bytesPerCount: bytesPerCount, spelling: spelling},
	}
}

// eventPatterns returns the known events. Sources: the kernel's uncore drivers
// (arch/x86/events/intel/uncore_snb{,ep}.c, arch/x86/events/amd/uncore.c,
// drivers/perf) and perf's tables (tools/perf/pmu-events/arch).
func eventPatterns() []eventPattern {
	const line = units.LineBytes
	const box = `uncore_imc(?:_\d+)?/`
	free := []eventPattern{
		pattern(`uncore_imc_free_running(?:_\d+)?/read/`, freeRunning, reads, line, alias),
		pattern(`uncore_imc_free_running(?:_\d+)?/write/`, freeRunning, writes, line, alias),
	}
	for i := range free {
		free[i].caution = oldFreeRunningScale
	}
	return append(free,
		pattern(box+`cas_count_read(?:_sch\d)?/`, imc, reads, line, alias),
		pattern(box+`cas_count_write(?:_sch\d)?/`, imc, writes, line, alias),
		pattern(`unc_m_cas_count(?:_sch\d)?\.rd`, imc, reads, line, table),
		pattern(`unc_m_cas_count(?:_sch\d)?\.wr`, imc, writes, line, table),
		pattern(`llc_misses\.mem_read`, imc, reads, line, metric),
		pattern(`llc_misses\.mem_write`, imc, writes, line, metric),
		// 0x04/0x0f is left out: all traffic on Skylake, reads on Ice Lake.
		pattern(box+`event=0x0?4,umask=0x0?3/|`+box+`event=0x0?5,umask=0xcf/`, imc, reads, line, encoded),
		pattern(box+`event=0x0?4,umask=0x(?:0?c|30)/|`+box+`event=0x0?5,umask=0xf0/`, imc, writes, line, encoded),
		pattern(box+`event=0x0?6,umask=0xcf/`, imc, reads, line, further),
		pattern(box+`event=0x0?6,umask=0xf0/`, imc, writes, line, further),
		pattern(`uncore_imc(?:_free_running_\d+)?/data_reads?/`, client, reads, line, alias),
		pattern(`uncore_imc(?:_free_running_\d+)?/data_writes?/`, client, writes, line, alias),
		pattern(`unc_mc[01]_rdcas_count_freerun`, client, reads, line, table),
		pattern(`unc_mc[01]_wrcas_count_freerun`, client, writes, line, table),
		pattern(`amd_umc(?:_\d+)?/event=0x0?a,rdwrmask=(?:0x)?1/`, amdUMC, reads, line, encoded),
		pattern(`amd_umc(?:_\d+)?/event=0x0?a,rdwrmask=(?:0x)?2/`, amdUMC, writes, line, encoded),
		pattern(`umc_cas_cmd\.rd`, amdUMC, reads, line, table),
		pattern(`umc_cas_cmd\.wr`, amdUMC, writes, line, table),
		pattern(`amd_df/event=0x(?:0?7|47|87|c7|107|147|187|1c7),umask=0x38/`, amdDF, both, line, encoded),
		pattern(`dram_channel_data_controller_[0-7]`, amdDF, both, line, table),
		pattern(`nvidia_scf_pmu_\d+/cmem_rd_data/`, scf, reads, 32, alias),
		pattern(`nvidia_scf_pmu_\d+/cmem_wr_total_bytes/`, scf, writes, 1, alias),
		pattern(`hisi_sccl\d+_ddrc\d+(?:_\d+)?/flux_rd/`, hisi, reads, 32, alias),
		pattern(`hisi_sccl\d+_ddrc\d+(?:_\d+)?/flux_wr/`, hisi, writes, 32, alias),
		pattern(`nest_mcs\d+_imc/pm_mcs\d+_128b_rd_disp_port\d+/`, powerNest, reads, line, alias),
		pattern(`nest_mcs\d+_imc/pm_mcs\d+_128b_wr_disp_port\d+/`, powerNest, writes, line, alias),
		pattern(`arm_cmn(?:_\d+)?/hnf_mc_reqs/`, cmn, both, line, alias),
		pattern(`uncore_hbm(?:_\d+)?/cas_count_read/`, hbm, reads, 32, alias),
		pattern(`uncore_hbm(?:_\d+)?/cas_count_write/`, hbm, writes, 32, alias),
	)
}

// catalogue finds events by name and remembers what it found.
type catalogue struct {
	patterns []eventPattern
	known    map[string]*event // nil for a name that is none
}

// knownEvents compiles the patterns once.
var knownEvents = sync.OnceValue(eventPatterns)

// maxRemembered bounds the memory of a catalogue in a file of ever new names.
const maxRemembered = 4096

func newCatalogue() *catalogue {
	return &catalogue{patterns: knownEvents(), known: map[string]*event{}}
}

// find returns the event of a name as perf prints it; nil when it is no memory
// event that is known.
func (c *catalogue) find(name string) *event {
	if e, ok := c.known[name]; ok {
		return e
	}
	plain := plainName(name)
	var found *event
	for i := range c.patterns {
		if c.patterns[i].name.MatchString(plain) {
			found = &c.patterns[i].event
			break
		}
	}
	if len(c.known) < maxRemembered {
		c.known[name] = found
	}
	return found
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
