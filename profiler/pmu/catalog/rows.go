package catalog

import (
	"fmt"

	"bandmate.dev/bandmate/units"
)

// Names of the sources, see [Sources].
const (
	IMC       = "imc"
	IMCClient = "imc-client"
	AMDUMC    = "amd-umc"
	AMDDF     = "amd-df"
	NvidiaSCF = "nvidia-scf"
	HiSiDDRC  = "hisi-ddrc"
	ArmCMN    = "arm-cmn"
	DMC620    = "dmc620"
	PowerNest = "power-nest"
)

// Sources lists the sources of the table in order of preference: counters at
// the controllers that tell reads from writes first.
func Sources() []string {
	return []string{IMC, AMDUMC, NvidiaSCF, HiSiDDRC, PowerNest, IMCClient, DMC620, AMDDF, ArmCMN}
}

// Models of Intel's family 6 (arch/x86/include/asm/intel-family.h).
var (
	sandyBridgeToCascadeLake = []CPU{{Intel, 6, []int{45, 62, 63, 86, 79, 85}}}
	iceLakeServer            = []CPU{{Intel, 6, []int{106, 108}}}
	sapphireRapids           = []CPU{{Intel, 6, []int{143, 207}}}
	graniteRapids            = []CPU{{Intel, 6, []int{173, 174, 175}}}
	optane                   = []CPU{{Intel, 6, []int{85, 106, 143}}}
	clientSandyToSky         = []CPU{{Intel, 6, []int{42, 58, 60, 61, 69, 70, 71, 78, 94, 142, 158}}}
)

// Models of AMD's families 17h and 19h (PPR of each).
var (
	zen2And3 = []CPU{{AMD, 0x17, []int{0x31}}, {AMD, 0x19, []int{0x01, 0x08}}}
	zen4     = []CPU{{AMD, 0x19, []int{0x10, 0x11, 0xa0}}}
	zen5     = []CPU{{AMD, 0x1a, []int{0x02, 0x11}}}
)

// Rows returns the table.
func Rows() []Row {
	var rows []Row
	rows = append(rows, intelServer()...)
	rows = append(rows, intelApart()...)
	rows = append(rows, intelClient()...)
	rows = append(rows, amd()...)
	return append(rows, others()...)
}

func cas(kind Kind, name, terms string) Event {
	return Event{Kind: kind, Name: name, Terms: terms, Bytes: units.LineBytes}
}

const (
	intelModule = "intel_uncore"
	snbepSource = "Linux arch/x86/events/intel/uncore_snbep.c"
	snbSource   = "Linux arch/x86/events/intel/uncore_snb.c"
	perfEvents  = "Linux tools/perf/pmu-events/arch/x86"
)

func intelServer() []Row {
	return []Row{
		{
			Platform: "Intel Granite Rapids, Sierra Forest", Source: IMC, Device: "uncore_imc_#", CPUs: graniteRapids,
			Events: []Event{
				cas(Read, "cas_count_read_sch0", "event=0x05,umask=0xcf"), cas(Write, "cas_count_write_sch0", "event=0x05,umask=0xf0"),
				cas(Read, "cas_count_read_sch1", "event=0x06,umask=0xcf"), cas(Write, "cas_count_write_sch1", "event=0x06,umask=0xf0"),
			},
			Channel: true, Module: intelModule, Kernel: "6.8", Basis: snbepSource,
			Notes: "Two sub-channels a controller. Kernels that name only cas_count_read and cas_count_write name half of the traffic, so both sub-channels are then read by their codes.",
		},
		{
			Platform: "Intel Sandy Bridge-EP to Cascade Lake", Source: IMC, Device: "uncore_imc_#", CPUs: sandyBridgeToCascadeLake,
			Events:  []Event{cas(Read, "cas_count_read", "event=0x04,umask=0x03"), cas(Write, "cas_count_write", "event=0x04,umask=0x0c")},
			Channel: true, Module: intelModule, Kernel: "3.5", Basis: snbepSource,
		},
		{
			Platform: "Intel Ice Lake server", Source: IMC, Device: "uncore_imc_#", CPUs: iceLakeServer,
			Events:  []Event{cas(Read, "cas_count_read", "event=0x04,umask=0x0f"), cas(Write, "cas_count_write", "event=0x04,umask=0x30")},
			Channel: true, Module: intelModule, Kernel: "5.8", Basis: snbepSource,
			Notes: "Before Linux 5.17 the kernel's own codes were those of earlier processors and counted only a part.",
		},
		{
			Platform: "Intel Sapphire Rapids, Emerald Rapids", Source: IMC, Device: "uncore_imc_#", CPUs: sapphireRapids,
			Events:  []Event{cas(Read, "cas_count_read", "event=0x05,umask=0xcf"), cas(Write, "cas_count_write", "event=0x05,umask=0xf0")},
			Channel: true, Module: intelModule, Kernel: "5.15", Basis: snbepSource,
		},
		{
			Platform: "Intel Ice Lake server, Snow Ridge, free-running", Source: IMC, Device: "uncore_imc_free_running_#", FreeRunning: true,
			Events: []Event{cas(Read, "read", "event=0xff,umask=0x20"), cas(Write, "write", "event=0xff,umask=0x21")},
			Module: intelModule, Kernel: "5.8", Basis: snbepSource,
			Notes: "Only where the regular counters are missing. Old kernels state a scale 16 times too small.",
		},
	}
}

func intelApart() []Row {
	return []Row{
		{
			Platform: "Intel Xeon Max (Sapphire Rapids with HBM)", Source: IMC, Device: "uncore_hbm_#", Memory: HBM,
			CPUs: []CPU{{Intel, 6, []int{143}}},
			Events: []Event{
				{Kind: Read, Name: "cas_count_read", Terms: "event=0x05,umask=0xcf", Bytes: 32},
				{Kind: Write, Name: "cas_count_write", Terms: "event=0x05,umask=0xf0", Bytes: 32},
			},
			Module: intelModule, Kernel: "6.11", Basis: perfEvents + "/sapphirerapids (UNC_MCHBM_CAS_COUNT)",
			Notes: "Reported apart from the memory modules.",
		},
		{
			Platform: "Intel Optane persistent memory", Source: IMC, Device: "uncore_imc_#", CPUs: optane, Memory: Persistent,
			Events:   []Event{cas(Read, "", "event=0xe3"), cas(Write, "", "event=0xe7")},
			Requires: "bus/nd/devices/region0", Module: intelModule, Kernel: "5.1", Basis: perfEvents + " (UNC_M_PMM_RPQ_INSERTS, UNC_M_PMM_WPQ_INSERTS)",
			Notes: "Reported apart from the memory modules.",
		},
	}
}

func intelClient() []Row {
	return []Row{
		{
			Platform: "Intel client, Tiger Lake and later", Source: IMCClient, Device: "uncore_imc_free_running_#",
			Events: []Event{cas(Read, "data_read", "event=0xff,umask=0x20"), cas(Write, "data_write", "event=0xff,umask=0x30")},
			Module: intelModule, Kernel: "5.9", Basis: snbSource,
		},
		{
			Platform: "Intel client, Tiger Lake and later, one controller", Source: IMCClient, Device: "uncore_imc_free_running",
			Events: []Event{cas(Read, "data_read", "event=0xff,umask=0x20"), cas(Write, "data_write", "event=0xff,umask=0x30")},
			Module: intelModule, Kernel: "5.9", Basis: snbSource,
		},
		{
			Platform: "Intel client, Sandy Bridge to Comet Lake", Source: IMCClient, Device: "uncore_imc", CPUs: clientSandyToSky,
			Events: []Event{cas(Read, "data_reads", "event=0x01"), cas(Write, "data_writes", "event=0x02")},
			Module: intelModule, Kernel: "3.15", Basis: snbSource,
			Notes: "32-bit counters, which the kernel reads often enough not to miss a wrap.",
		},
	}
}

const (
	amdModule = "amd_uncore"
	// amdChannelStep is between the event numbers of neighboring channels.
	amdChannelStep = 0x40
)

func amd() []Row {
	rows := []Row{
		{
			Platform: "AMD Zen 4, Zen 5", Source: AMDUMC, Device: "amd_umc_#",
			Events:  []Event{cas(Read, "", "event=0x0a,rdwrmask=0x1"), cas(Write, "", "event=0x0a,rdwrmask=0x2")},
			Channel: true, Module: amdModule, Kernel: "6.7", Basis: perfEvents + "/amdzen4/memory-controller.json (umc_cas_cmd), Linux arch/x86/events/amd/uncore.c",
			Notes: "The kernel names no events.",
		},
		{
			Platform: "AMD Zen 5 data fabric", Source: AMDDF, Device: "amd_df", CPUs: zen5,
			Events: amdChannels(12, fabricEvent{Read, 0x1f, 0xffe, false}, fabricEvent{Write, 0x1f, 0xfff, false}),
			Module: amdModule, Kernel: "6.7", Basis: perfEvents + "/amdzen5/data-fabric.json",
			Notes: "More events than counters: they take turns.",
		},
		{
			Platform: "AMD Zen 4 data fabric", Source: AMDDF, Device: "amd_df", CPUs: zen4,
			Events: amdChannels(12, fabricEvent{Read, 0x1f, 0x7fe, false}, fabricEvent{Write, 0x1f, 0x7ff, false},
				fabricEvent{Read, 0x1f, 0xbfe, true}, fabricEvent{Write, 0x1f, 0xbff, true}),
			Module: amdModule, Kernel: "6.0", Basis: perfEvents + "/amdzen4/data-fabric.json",
			Notes: "More events than counters: they take turns.",
		},
		{
			Platform: "AMD Zen 2, Zen 3 data fabric", Source: AMDDF, Device: "amd_df", CPUs: zen2And3,
			Events: amdChannels(8, fabricEvent{Total, 0x07, 0x38, false}),
			Module: amdModule, Kernel: "4.17", Basis: perfEvents + "/amdzen2/data-fabric.json (dram_channel_data_controller)",
			Notes: "Total only: the read share is unknown. Eight events take turns on four counters.",
		},
	}
	return rows
}

type fabricEvent struct {
	kind         Kind
	first, umask int
	remote       bool
}

// amdChannels repeats events for every channel of the data fabric.
func amdChannels(channels int, each ...fabricEvent) []Event {
	var events []Event
	for channel := range channels {
		for _, e := range each {
			events = append(events, Event{
				Kind: e.kind, Bytes: units.LineBytes, Remote: e.remote,
				Terms: fmt.Sprintf("event=%#x,umask=%#x", e.first+channel*amdChannelStep, e.umask),
			})
		}
	}
	return events
}

const hisiSource = "Linux drivers/perf/hisilicon/hisi_uncore_ddrc_pmu.c"

func hisiFlux() []Event {
	return []Event{{Kind: Read, Name: "flux_rd", Bytes: 32}, {Kind: Write, Name: "flux_wr", Bytes: 32}}
}

func others() []Row {
	return []Row{
		{
			Platform: "Nvidia Grace", Source: NvidiaSCF, Device: "nvidia_scf_pmu_#",
			Events: []Event{
				{Kind: Read, Name: "cmem_rd_data", Terms: "event=0x1a5", Bytes: 32},
				{Kind: Write, Name: "cmem_wr_total_bytes", Terms: "event=0x1db", Bytes: 1},
			},
			Module: "nvidia_cspmu", Kernel: "6.2", Basis: "Linux drivers/perf/arm_cspmu/nvidia_cspmu.c, Documentation/admin-guide/perf/nvidia-pmu.rst",
			Notes: "Of the CPU's memory; that of the GPU is not counted.",
		},
		{
			Platform: "HiSilicon Kunpeng 920", Source: HiSiDDRC, Device: "hisi_sccl#_ddrc#",
			Events:  hisiFlux(),
			Channel: true, OwnNode: true, Module: "hisi_uncore_ddrc_pmu", Kernel: "4.14", Basis: hisiSource + ", pmu-events/arch/arm64/hisilicon",
			Notes: "The codes differ between generations, so only the kernel's names are used.",
		},
		{
			Platform: "HiSilicon Kunpeng, newer", Source: HiSiDDRC, Device: "hisi_sccl#_ddrc#_#",
			Events:  hisiFlux(),
			OwnNode: true, Module: "hisi_uncore_ddrc_pmu", Kernel: "5.13", Basis: hisiSource,
			Notes: "Two devices a channel.",
			Doubt: "that a count stands for 32 bytes, as on Kunpeng 920, is assumed",
		},
		{
			Platform: "Ampere Altra (DMC-620)", Source: DMC620, Device: "arm_dmc620_*",
			Events: []Event{
				cas(Read, "", "event=0x12,clkdiv2=1,mask=1,match=0"), cas(Write, "", "event=0x12,clkdiv2=1,mask=1,match=1"),
			},
			Channel: true, Unlocated: true, Module: "arm_dmc620_pmu", Kernel: "5.12", Basis: "Linux drivers/perf/arm_dmc620_pmu.c (clkdiv2_rdwr)",
			Notes: "The device does not say to which socket it belongs.",
			Doubt: "that a command of this controller moves 64 bytes is assumed, not documented",
		},
		{
			Platform: "Arm CMN-600 to CMN-700", Source: ArmCMN, Device: "arm_cmn_#",
			Events: []Event{{Kind: Total, Name: "hnf_mc_reqs", Terms: "type=0x5,eventid=0xd", Bytes: units.LineBytes}},
			Module: "arm-cmn", Kernel: "5.10", Basis: "Linux drivers/perf/arm-cmn.c, pmu-events/arch/arm64/arm/cmn",
			Notes: "Total only: the read share is unknown. Not with home nodes HN-S, as in CMN-S3, whose events have other names.",
			Doubt: "requests to the memory controllers are counted, not data: that each moves 64 bytes is assumed",
		},
		{
			Platform: "IBM POWER9, controllers 0 and 1", Source: PowerNest, Device: "nest_mcs01_imc",
			Events: nestEvents("01"),
			Module: "the kernel option CONFIG_PPC_POWERNV", Kernel: "4.14", Basis: "Linux tools/perf/pmu-events/arch/powerpc/power9/nest_metrics.json",
			Notes: "A count stands for 64 bytes, whatever the event is called. Not in partitions (LPAR).",
		},
		{
			Platform: "IBM POWER9, controllers 2 and 3", Source: PowerNest, Device: "nest_mcs23_imc",
			Events: nestEvents("23"),
			Module: "the kernel option CONFIG_PPC_POWERNV", Kernel: "4.14", Basis: "Linux tools/perf/pmu-events/arch/powerpc/power9/nest_metrics.json",
			Notes: "A count stands for 64 bytes, whatever the event is called. Not in partitions (LPAR).",
		},
	}
}

func nestEvents(controllers string) []Event {
	var events []Event
	for _, port := range []string{"01", "23"} {
		events = append(events,
			cas(Read, fmt.Sprintf("PM_MCS%s_128B_RD_DISP_PORT%s", controllers, port), ""),
			cas(Write, fmt.Sprintf("PM_MCS%s_128B_WR_DISP_PORT%s", controllers, port), ""))
	}
	return events
}
