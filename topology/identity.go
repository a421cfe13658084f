package topology

import (
	"io/fs"
	"slices"
	"strings"

	"bandmate.dev/bandmate/internal/sysfile"
)

// readIdentity fills CPUModel, VirtualMachine and Hypervisor. None of its files
// must exist.
func (m *Machine) readIdentity(sys, proc fs.FS) error {
	info, err := sysfile.CPUInfo(proc)
	if err != nil {
		return err
	}
	m.CPUModel = cpuModel(info, optional(sys, "firmware/devicetree/base/model"))
	m.Hypervisor = hypervisor(
		optional(sys, "hypervisor/type"),
		optional(sys, "class/dmi/id/sys_vendor"),
		optional(sys, "class/dmi/id/product_name"),
		optional(sys, "firmware/devicetree/base/hypervisor/compatible"))
	hasFlag := slices.Contains(strings.Fields(info["flags"]), "hypervisor")
	if slices.Contains(clouds(), m.Hypervisor) && info["flags"] != "" && !hasFlag {
		m.Hypervisor = ""
	}
	m.VirtualMachine = hasFlag || m.Hypervisor != ""
	return nil
}

// optional reads a value that may be missing or unreadable for this user.
// Device tree strings end in a NUL byte.
func optional(fsys fs.FS, name string) string {
	text, err := sysfile.Text(fsys, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(text, "\x00"))
}

// armCores names the server cores by implementer and part number (MIDR_EL1,
// arch/arm64/include/asm/cputype.h).
var armCores = map[string]string{
	"0x41 0xd0c": "Arm Neoverse N1",
	"0x41 0xd40": "Arm Neoverse V1",
	"0x41 0xd49": "Arm Neoverse N2",
	"0x41 0xd4f": "Arm Neoverse V2",
	"0x41 0xd84": "Arm Neoverse V3",
	"0x41 0xd8e": "Arm Neoverse N3",
	"0x46 0x001": "Fujitsu A64FX",
	"0x48 0xd01": "HiSilicon TSV110",
	"0xc0 0xac3": "Ampere-1",
	"0xc0 0xac4": "Ampere-1a",
}

func cpuModel(info map[string]string, deviceTree string) string {
	for _, key := range []string{"model name", "cpu", "uarch"} {
		if info[key] != "" {
			return info[key]
		}
	}
	implementer, part := info["CPU implementer"], info["CPU part"]
	if name := armCores[implementer+" "+part]; name != "" {
		return name
	}
	if deviceTree != "" {
		return deviceTree
	}
	if implementer == "" {
		return ""
	}
	return "Arm implementer " + implementer + " part " + part
}

// clouds are products by whose names virtual machines go, and machines without a
// hypervisor. On x86 a flag of the processor tells them apart.
func clouds() []string { return []string{"Google Compute Engine", "Alibaba Cloud ECS"} }

// hypervisor recognizes virtual machines by what their firmware says, which is all that
// tells on Arm.
func hypervisor(kind, vendor, product, compatible string) string {
	switch {
	case kind != "":
		return strings.ToUpper(kind[:1]) + kind[1:]
	case strings.HasPrefix(vendor, "Amazon EC2") && !strings.Contains(product, ".metal"):
		return "Amazon EC2"
	case slices.Contains(clouds(), product):
		return product
	case vendor == "QEMU", strings.HasPrefix(product, "KVM"):
		return "KVM"
	case strings.HasPrefix(vendor, "VMware"):
		return "VMware"
	case vendor == "innotek GmbH":
		return "VirtualBox"
	case vendor == "Microsoft Corporation" && product == "Virtual Machine":
		return "Hyper-V"
	case vendor == "Hetzner" && product == "vServer", vendor == "KubeVirt":
		return "KVM"
	case strings.HasPrefix(product, "OpenStack"):
		return "OpenStack"
	case strings.HasPrefix(vendor, "Parallels"):
		return "Parallels"
	case strings.HasPrefix(product, "Apple Virtualization"):
		return "Apple Virtualization"
	case strings.HasPrefix(compatible, "linux,kvm"):
		return "KVM"
	case strings.HasPrefix(compatible, "xen"):
		return "Xen"
	}
	return ""
}
