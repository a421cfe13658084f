package checks

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// traffic is counts per second.
type traffic struct{ reads, writes float64 }

// expectation is what a measurement shall say.
type expectation struct {
	nodes map[int]traffic
	// totalOnly: the counters do not tell reads from writes.
	totalOnly bool
	// warning is a part of one that shall be given; empty: any, or none.
	warning string
}

// of compares a measurement with what was expected.
func (e expectation) of(s summary) error {
	var faults []error
	if s.ReadBytesPerSecond == nil || s.WriteBytesPerSecond == nil {
		return errors.New("no bandwidth")
	}
	if e.warning != "" && !strings.Contains(strings.Join(s.Warnings, "\n"), e.warning) {
		faults = append(faults, fmt.Errorf("warnings %q, want %q in them", s.Warnings, e.warning))
	}
	if len(s.PerNode) != len(e.nodes) {
		faults = append(faults, fmt.Errorf("nodes %v, want %d of them", s.PerNode, len(e.nodes)))
	}
	total := e.total()
	for _, n := range s.PerNode {
		faults = append(faults, e.compare(fmt.Sprintf("node %d", n.Node), n.ReadBytesPerSecond, n.WriteBytesPerSecond, e.nodes[n.Node]))
	}
	faults = append(faults, e.compare("total", *s.ReadBytesPerSecond, *s.WriteBytesPerSecond, total))
	switch {
	case e.totalOnly && s.ReadShare != nil:
		faults = append(faults, fmt.Errorf("read share %v, want it unknown", *s.ReadShare))
	case !e.totalOnly && s.ReadShare == nil:
		faults = append(faults, errors.New("no read share"))
	case !e.totalOnly:
		faults = append(faults, within("read share", *s.ReadShare, total.reads/(total.reads+total.writes), tolerance))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("%w\nwarnings: %q", err, s.Warnings)
	}
	return nil
}

// total adds the nodes up.
func (e expectation) total() traffic {
	var total traffic
	for _, n := range e.nodes {
		total.reads += n.reads
		total.writes += n.writes
	}
	return total
}

func (e expectation) compare(what string, read, write float64, want traffic) error {
	if e.totalOnly {
		return within(what+" bandwidth", read+write, bytesPerCount*(want.reads+want.writes), tolerance)
	}
	return errors.Join(
		within(what+" read bandwidth", read, bytesPerCount*want.reads, tolerance),
		within(what+" write bandwidth", write, bytesPerCount*want.writes, tolerance))
}

// row is a measurement of steady traffic.
type row struct {
	name    string
	machine machine
	source  string // empty: bandmate's choice
	want    expectation
	// duration of the measurement; empty: long enough for most.
	duration string
}

// Traffic that differs in every number, and what two boxes of it make.
const unequalRates = "* 0 1e8 5e7; * 1 2e7 3e7"

var (
	oneBox   = expectation{nodes: map[int]traffic{0: {1e8, 5e7}, 1: {2e7, 3e7}}}
	twoBoxes = expectation{nodes: map[int]traffic{0: {2e8, 1e8}, 1: {4e7, 6e7}}}
)

// trafficRows are the controllers that bandmate knows, as far as the virtual
// machine can pretend to have them.
func trafficRows() []row {
	on := func(p processor, pmus string) machine { return machine{pmus: pmus, rates: unequalRates, processor: p} }
	inTotal, oldScale := oneBox, oneBox
	inTotal.totalOnly = true
	oldScale.warning = "scale"
	wrapping := on(iceLake, "uncore_imc_0:icx")
	wrapping.options = "headroom=1000"
	inPackage := on(sapphireRapids, "uncore_imc_0:spr,uncore_hbm_0:spr-bare")
	inPackage.rates += "; uncore_hbm_0 * 3e8 2e8"
	apart := oneBox
	apart.warning = "HBM"
	memoryModules := on(iceLake, "uncore_imc_0:icx")
	memoryModules.rates = "* 0 1e8 5e7 9e7 8e7; * 1 2e7 3e7 9e7 8e7"
	const turns = "1s" // of 8 events on 4 counters, and of 48 on 16
	fabric := on(zen4, "amd_df:df4")
	fabric.options = "counters=16"
	return []row{
		{"exact rates per node, two channels", on(iceLake, "uncore_imc_0:icx,uncore_imc_1:icx"), "imc", twoBoxes, ""},
		{"Skylake to Cascade Lake", on(skylake, "uncore_imc_0:skx"), "imc", oneBox, ""},
		{"Sapphire Rapids", on(sapphireRapids, "uncore_imc_0:spr,uncore_imc_1:spr"), "imc", twoBoxes, ""},
		{"Granite Rapids, both sub-channels", on(graniteRapids, "uncore_imc_0:gnr"), "imc", oneBox, ""},
		{"Granite Rapids on a kernel that shows one sub-channel", on(graniteRapids, "uncore_imc_0:gnr-old"), "imc", oneBox, ""},
		{"registers that wrap", wrapping, "imc", oneBox, ""},
		{"a PMU without events folder", on(iceLake, "uncore_imc_0:icx-bare"), "imc", oneBox, ""},
		{"memory in the package is kept apart", inPackage, "imc", apart, ""},
		{"persistent memory is kept apart", memoryModules, "imc", oneBox, ""},
		{"free-running counters of a server", on(iceLake, "uncore_imc_free_running_0:free"), "", oneBox, ""},
		{"free-running counters with the scale of old kernels", on(iceLake, "uncore_imc_free_running_0:free-old"), "", oldScale, ""},
		{"nothing counted twice: free-running beside programmable", on(iceLake, "uncore_imc_0:icx,uncore_imc_free_running_0:free"), "", oneBox, ""},
		{"client", on(tigerLake, "uncore_imc_free_running_0:client,uncore_imc_free_running_1:client"), "imc-client", twoBoxes, ""},
		{"old client", on(skylakeClient, "uncore_imc:snb-client"), "imc-client", oneBox, ""},
		{"AMD memory controllers, numbered across sockets", on(zen4, "amd_umc_0:umc@0,amd_umc_1:umc@0,amd_umc_2:umc@1,amd_umc_3:umc@1"), "amd-umc", twoBoxes, ""},
		{"AMD data fabric, total only", on(zen3, "amd_df:df"), "amd-df", inTotal, turns},
		{"AMD Zen 4 data fabric, more events than counters", fabric, "amd-df", oneBox, turns},
	}
}

func trafficChecks() []check {
	var checks []check
	for _, r := range trafficRows() {
		checks = append(checks, check{r.name, r.machine.on(func() error {
			s, err := measure(root, r.source, "--duration", cmp.Or(r.duration, "300ms"))
			if err != nil {
				return err
			}
			return r.want.of(s)
		})})
	}
	return checks
}
