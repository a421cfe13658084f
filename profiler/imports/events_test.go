package imports

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		name   string
		family family
		kind   catalog.Kind
		bytes  float64
	}{
		{"uncore_imc/cas_count_read/", catalog.IMC, catalog.Read, 64},
		{"uncore_imc_11/cas_count_write/u", catalog.IMC, catalog.Write, 64},
		{"uncore_imc_0/cas_count_read_sch1/", catalog.IMC, catalog.Read, 64},
		{"UNC_M_CAS_COUNT.RD", catalog.IMC, catalog.Read, 64},
		{"unc_m_cas_count.wr [uncore_imc_0]", catalog.IMC, catalog.Write, 64},
		{"LLC_MISSES.MEM_READ", catalog.IMC, catalog.Read, 64},
		{"uncore_imc_0/event=0x5,umask=0xf0/", catalog.IMC, catalog.Write, 64},
		{"uncore_imc_0/event=0x06,umask=0xcf/", catalog.IMC, catalog.Read, 64},
		{"uncore_imc_free_running_0/data_read/", catalog.IMCClient, catalog.Read, 64},
		{"uncore_imc/data_writes/", catalog.IMCClient, catalog.Write, 64},
		{"uncore_imc_free_running_1/write/", freeRunning, catalog.Write, 64},
		{"amd_umc_3/event=0xa,rdwrmask=2/", catalog.AMDUMC, catalog.Write, 64},
		{"umc_cas_cmd.rd", catalog.AMDUMC, catalog.Read, 64},
		{"amd_df/event=0x1c7,umask=0x38/", catalog.AMDDF, catalog.Total, 64},
		{"nvidia_scf_pmu_0/cmem_rd_data/", catalog.NvidiaSCF, catalog.Read, 32},
		{"nvidia_scf_pmu_0/cmem_wr_total_bytes/", catalog.NvidiaSCF, catalog.Write, 1},
		{"hisi_sccl1_ddrc0/flux_wr/", catalog.HiSiDDRC, catalog.Write, 32},
		{"nest_mcs01_imc/PM_MCS01_128B_RD_DISP_PORT01/", catalog.PowerNest, catalog.Read, 64},
		{"arm_cmn_0/hnf_mc_reqs/", catalog.ArmCMN, catalog.Total, 64},
		{"uncore_hbm_0/cas_count_read/", hbm, catalog.Read, 32},
		{"uncore_hbm/umask=0xf0,event=0x5/", hbm, catalog.Write, 32},
		{"uncore_imc/event=0xe3/", persistent, catalog.Read, 64},
		{"uncore_imc_free_running_0/umask=0x30,event=0xff/", catalog.IMCClient, catalog.Write, 64},
		{"arm_dmc620_10008c000/match=1,mask=1,clkdiv2=1,event=0x12/", catalog.DMC620, catalog.Write, 64},
		{"amd_df/event=0x1f,umask=0x7fe/", catalog.AMDDF, catalog.Read, 64},
		{"hisi_sccl3_ddrc0_1/flux_rd/", catalog.HiSiDDRC, catalog.Read, 32},
		{"uncore_imc_0/unc_m_cas_count.rd/", catalog.IMC, catalog.Read, 64},
		{"uncore_imc/UNC_M_CAS_COUNT.WR/", catalog.IMC, catalog.Write, 64},
		{"uncore_imc_free_running_0/unc_mc0_rdcas_count_freerun/", catalog.IMCClient, catalog.Read, 64},
		{"amd_umc_11/umc_cas_cmd.wr/", catalog.AMDUMC, catalog.Write, 64},
		{"uncore_imc_11/uncore_imc,cas_count_read/", catalog.IMC, catalog.Read, 64},
		{"uncore_imc_0/uncore_imc,event=0x04,umask=0x0c/", catalog.IMC, catalog.Write, 64},
	} {
		e := (&dictionary{devices: catalogEvents(), tables: tableEvents(), found: map[string]*event{}}).find(tt.name)
		if e == nil {
			t.Errorf("%s is unknown", tt.name)
			continue
		}
		if e.family != tt.family || e.kind != tt.kind || e.bytesPerCount != tt.bytes {
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
	for _, name := range []string{
		"instructions", "cycles:u", "uncore_imc_0/event=0x04,umask=0x0f/", "uncore_imc/clockticks/",
		"uncore_imc_0/umask=0xf,event=4/", "uncore_imc_free_running_0/event=0xff,umask=0x20/", // another thing on another processor
		"uncore_imc_0/event=0x04,umask=0x03,edge=1/", "uncore_imc_0/cas_count_read/x/",
		"unc_m_pmm_rpq_inserts", "uncore_cha_0/unc_m_cas_count.rd/", "uncore_imc_0/uncore_cha,cas_count_read/", "uncore_imc_free_running_0/data_total/", "xuncore_imc/cas_count_read/", "", "/", ":",
	} {
		if e := (&dictionary{devices: catalogEvents(), tables: tableEvents(), found: map[string]*event{}}).find(name); e != nil {
			t.Errorf("%q is taken for %+v", name, e)
		}
	}
}

// TestKindsOfMemoryAreNotAdded: two families may see the same traffic.
func TestKindsOfMemoryAreNotAdded(t *testing.T) {
	alone, err := read(perfLines, Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	both, err := read(perfLines+
		"7.00,MiB,uncore_imc_free_running/read/,1000,100.00,,\n8.00,MiB,uncore_imc_free_running/write/,1000,100.00,,\n"+
		"9.00,MiB,uncore_hbm/cas_count_read/,1000,100.00,,\n", Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if both.Traffic != alone.Traffic {
		t.Errorf("%+v, want %+v", both.Traffic, alone.Traffic)
	}
	if len(both.Warnings) < len(alone.Warnings)+2 {
		t.Errorf("warnings %q", both.Warnings)
	}
}

// TestEventsOfCatalog: what this program counts itself it can import, unless
// the event is another thing on another processor.
func TestEventsOfCatalog(t *testing.T) {
	for _, r := range catalog.Rows() {
		device := strings.NewReplacer("_#", "", "#", "1", "*", "10008c000").Replace(r.Device)
		for _, e := range r.Events {
			for _, what := range []string{e.Name, e.Terms} {
				name := device + "/" + what + "/"
				ambiguous := what == allReads || what == "event=0xff,umask=0x20"
				found := (&dictionary{devices: catalogEvents(), tables: tableEvents(), found: map[string]*event{}}).find(name)
				if what == "" || found == nil && ambiguous {
					continue
				}
				if found == nil || found.family != familyOf(r) || found.kind != e.Kind || found.bytesPerCount != e.Bytes {
					t.Errorf("%s: %s is taken for %+v", r.Platform, name, found)
				}
			}
		}
	}
}

// TestBoxesOfNewPerf reads boxes as perf prints them since 6.16: the event is renamed to
// that of its box.
func TestBoxesOfNewPerf(t *testing.T) {
	want, err := read(perfLines, Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, box := range []string{"uncore_imc_0", "uncore_imc_1"} {
		text.WriteString("50.00,MiB," + box + "/uncore_imc,cas_count_read/,1000,100.00,,\n")
		text.WriteString("25.00,MiB," + box + "/uncore_imc,cas_count_write/,1000,100.00,,\n")
	}
	got, err := read(text.String(), Options{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Traffic != want.Traffic {
		t.Errorf("%v, want %v", got.Traffic, want.Traffic)
	}
}
