package topology

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/utils/cpuset"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/internal/sysfile"
)

func TestReadRefusesMalformed(t *testing.T) {
	const cpu0 = "sys/devices/system/cpu/cpu0/"
	tests := []struct{ name, file, content string }{
		{"not a list", "sys/devices/system/cpu/online", "all"},
		{"nothing online", "sys/devices/system/cpu/online", "\n"},
		{"too many CPUs", "sys/devices/system/cpu/online", "0-99999999999"},
		{"backwards", "sys/devices/system/cpu/online", "3-0"},
		{"longer than any list", "sys/devices/system/cpu/online", strings.Repeat("0,", 64<<10)},
		{"socket", cpu0 + "topology/physical_package_id", "one"},
		{"core without the CPU", cpu0 + "topology/core_cpus_list", "1"},
		{"cache level", cpu0 + "cache/index0/level", "0"},
		{"cache type", cpu0 + "cache/index0/type", "Magic"},
		{"cache size", cpu0 + "cache/index0/size", "48"},
		{"cache without the CPU", cpu0 + "cache/index0/shared_cpu_list", ""},
		{"too many nodes", "sys/devices/system/node/online", "0-1024"},
		{"CPU in two nodes", "sys/devices/system/node/node1/cpulist", "0"},
		{"distance", "sys/devices/system/node/node0/distance", "10 far"},
		{"too few distances", "sys/devices/system/node/node0/distance", "10"},
		{"memory of a node", "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: much kB"},
		{"memory without a line", "proc/meminfo", "MemFree: 1 kB"},
		{"memory in another unit", "proc/meminfo", "MemTotal: 1 MB"},
		{"negative memory", "proc/meminfo", "MemTotal: -1 kB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := fixture(t, "intel-2socket-smt")
			if files[tt.file] == nil {
				t.Fatalf("%s is not in the fixture", tt.file)
			}
			files[tt.file] = &fstest.MapFile{Data: []byte(tt.content)}
			_, err := readTree(files)
			_, inRoot, _ := strings.Cut(tt.file, "/")
			if !errors.Is(err, sysfile.ErrMalformed) || !strings.Contains(err.Error(), inRoot) {
				t.Errorf("error %v, want one that names %s and is ErrMalformed", err, inRoot)
			}
		})
	}
}

func TestReadNeedsTheOnlineCPUs(t *testing.T) {
	files := fixture(t, "vm-2cpu")
	delete(files, "sys/devices/system/cpu/online")
	if _, err := readTree(files); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that a file does not exist", err)
	}
}

func TestReadTakesTheOldNameOfSiblings(t *testing.T) {
	files := fixture(t, "vm-1core-smt")
	for _, cpu := range []string{"cpu0", "cpu1"} {
		dir := "sys/devices/system/cpu/" + cpu + "/topology/"
		files[dir+"thread_siblings_list"] = files[dir+"core_cpus_list"]
		delete(files, dir+"core_cpus_list")
	}
	m, err := readTree(files)
	if err != nil {
		t.Fatal(err)
	}
	if m.CPUs[1].Core != 0 {
		t.Errorf("CPU 1 is on core %d, want 0", m.CPUs[1].Core)
	}
}

func TestIdentity(t *testing.T) {
	tests := []struct {
		name, cpuinfo             string
		files                     map[string]string
		wantModel, wantHypervisor string
		wantVirtual               bool
	}{
		{name: "nothing known"},
		{name: "x86", cpuinfo: "model name\t: AMD EPYC 9654\nflags\t: fpu\n", wantModel: "AMD EPYC 9654"},
		{name: "only the first processor", cpuinfo: "processor\t: 0\n\nmodel name\t: other", wantModel: ""},
		{name: "POWER", cpuinfo: "cpu\t\t: POWER9\n", wantModel: "POWER9"},
		{name: "known Arm core", cpuinfo: "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", wantModel: "Arm Neoverse V2"},
		{name: "unknown Arm core", cpuinfo: "CPU implementer\t: 0x99\nCPU part\t: 0x001\n", wantModel: "Arm implementer 0x99 part 0x001"},
		{name: "device tree", files: map[string]string{"firmware/devicetree/base/model": "Board\x00"}, wantModel: "Board"},
		{name: "hypervisor flag alone", cpuinfo: "flags\t: fpu hypervisor\n", wantVirtual: true},
		{name: "part of a flag", cpuinfo: "flags\t: hypervisors\n"},
		{name: "Xen", files: map[string]string{"hypervisor/type": "xen\n"}, wantHypervisor: "Xen", wantVirtual: true},
		{
			name: "EC2", files: map[string]string{"class/dmi/id/sys_vendor": "Amazon EC2", "class/dmi/id/product_name": "m7i.large"},
			wantHypervisor: "Amazon EC2", wantVirtual: true,
		},
		{name: "EC2 without a hypervisor", files: map[string]string{"class/dmi/id/sys_vendor": "Amazon EC2", "class/dmi/id/product_name": "m7i.metal-24xl"}},
		{
			name: "Hyper-V", files: map[string]string{"class/dmi/id/sys_vendor": "Microsoft Corporation", "class/dmi/id/product_name": "Virtual Machine"},
			wantHypervisor: "Hyper-V", wantVirtual: true,
		},
		{
			name: "Google", cpuinfo: "flags\t: fpu hypervisor\n", files: map[string]string{"class/dmi/id/product_name": "Google Compute Engine"},
			wantHypervisor: "Google Compute Engine", wantVirtual: true,
		},
		{
			name: "Google on Arm", cpuinfo: "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", files: map[string]string{"class/dmi/id/product_name": "Google Compute Engine"},
			wantModel: "Arm Neoverse V2", wantHypervisor: "Google Compute Engine", wantVirtual: true,
		},
		{name: "Google without a hypervisor", cpuinfo: "flags\t: fpu vme\n", files: map[string]string{"class/dmi/id/product_name": "Google Compute Engine"}},
		{
			name: "Alibaba on Arm", cpuinfo: "CPU implementer\t: 0x41\nCPU part\t: 0xd49\n", files: map[string]string{"class/dmi/id/product_name": "Alibaba Cloud ECS"},
			wantModel: "Arm Neoverse N2", wantHypervisor: "Alibaba Cloud ECS", wantVirtual: true,
		},
		{name: "Alibaba without a hypervisor", cpuinfo: "flags\t: fpu vme\n", files: map[string]string{"class/dmi/id/product_name": "Alibaba Cloud ECS"}},
		{
			name: "Hetzner on Arm", files: map[string]string{"class/dmi/id/sys_vendor": "Hetzner", "class/dmi/id/product_name": "vServer"},
			wantHypervisor: "KVM", wantVirtual: true,
		},
		{
			name: "OpenStack on Arm", files: map[string]string{"class/dmi/id/sys_vendor": "OpenStack Foundation", "class/dmi/id/product_name": "OpenStack Nova"},
			wantHypervisor: "OpenStack", wantVirtual: true,
		},
		{
			name: "Parallels on Arm", files: map[string]string{"class/dmi/id/sys_vendor": "Parallels International GmbH.", "class/dmi/id/product_name": "Parallels ARM Virtual Machine"},
			wantHypervisor: "Parallels", wantVirtual: true,
		},
		{
			name: "Apple", files: map[string]string{"class/dmi/id/sys_vendor": "Apple Inc.", "class/dmi/id/product_name": "Apple Virtualization Generic Platform"},
			wantHypervisor: "Apple Virtualization", wantVirtual: true,
		},
		{name: "a laptop by Microsoft", files: map[string]string{"class/dmi/id/sys_vendor": "Microsoft Corporation", "class/dmi/id/product_name": "Surface"}},
		{name: "KVM on Arm", files: map[string]string{"firmware/devicetree/base/hypervisor/compatible": "linux,kvm\x00"}, wantHypervisor: "KVM", wantVirtual: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys, proc := fstest.MapFS{}, fstest.MapFS{}
			for name, content := range tt.files {
				sys[name] = &fstest.MapFile{Data: []byte(content)}
			}
			if tt.cpuinfo != "" {
				proc["cpuinfo"] = &fstest.MapFile{Data: []byte(tt.cpuinfo)}
			}
			var m Machine
			if err := m.readIdentity(sys, proc); err != nil {
				t.Fatal(err)
			}
			if m.CPUModel != tt.wantModel || m.Hypervisor != tt.wantHypervisor || m.VirtualMachine != tt.wantVirtual {
				t.Errorf("model %q, virtual machine %v %q; want %q, %v %q",
					m.CPUModel, m.VirtualMachine, m.Hypervisor, tt.wantModel, tt.wantVirtual, tt.wantHypervisor)
			}
		})
	}
}

func TestSharesLastLevelCache(t *testing.T) {
	tests := []struct {
		machine, a, b         string
		wantShared, wantKnown bool
	}{
		{"intel-2socket-smt", "0", "1", true, true},
		{"intel-2socket-smt", "0", "4", false, true},
		{"intel-2socket-smt", "0-1", "3-4", true, true},
		{"epyc-ccx", "0", "2", false, true},
		{"arm-altra", "0", "1", false, false}, // the system-level cache is not listed
		{"arm-devicetree", "0", "1", true, true},
		{"vm-1core-smt", "0", "1", true, true},
		{"bare", "0", "1", false, false},
		{"vm-2cpu", "0", "", false, false},
		{"vm-2cpu", "0", "9", false, false},
	}
	for _, tt := range tests {
		m := machine(t, tt.machine)
		for _, sets := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			shared, known := m.SharesLastLevelCache(mustParse(t, sets[0]), mustParse(t, sets[1]))
			if shared != tt.wantShared || known != tt.wantKnown {
				t.Errorf("%s, CPUs %q and %q: shared %v, known %v; want %v, %v", tt.machine, sets[0], sets[1], shared, known, tt.wantShared, tt.wantKnown)
			}
		}
	}
}

func TestSharedCaches(t *testing.T) {
	for name, want := range map[string][]string{
		"intel-2socket-smt": {"0-3,8-11", "4-7,12-15"},
		"epyc-ccx":          {"0-1,8-9", "2-3,10-11", "6-7,14-15"},
		"arm-altra":         nil, // private caches of level 2
		"bare":              nil,
	} {
		m := machine(t, name)
		var got []string
		for _, c := range m.SharedCaches(m.Online()) {
			if c.Bytes <= 0 {
				t.Errorf("%s: a cache of %d bytes", name, c.Bytes)
			}
			got = append(got, c.CPUs.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: caches of %q, want %q", name, got, want)
		}
	}
}

func TestLastLevelCacheBytes(t *testing.T) {
	tests := []struct {
		machine, cpus string
		want          int64
		known         bool
	}{
		{"epyc-ccx", "0-1", 32 << 20, true},
		{"epyc-ccx", "1-2", 64 << 20, true},
		{"intel-2socket-smt", "0-15", 120 << 20, true},
		{"arm-altra", "0-1", 0, false},
		{"arm-devicetree", "0", 0, false},
		{"bare", "0", 0, false},
		{"vm-2cpu", "", 0, false},
	}
	for _, tt := range tests {
		got, known := machine(t, tt.machine).LastLevelCacheBytes(mustParse(t, tt.cpus))
		if got != tt.want || known != tt.known {
			t.Errorf("%s, CPUs %q: %d, %v; want %d, %v", tt.machine, tt.cpus, got, known, tt.want, tt.known)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for _, list := range []string{"a", "1,,x", "0-", "-1", "3-1", "8192", "0-8192", "1-2-3", "0x1", "18446744073709551616"} {
		if set, err := ParseCPUs(list); err == nil {
			t.Errorf("ParseCPUs(%q) = %s, want an error", list, set)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		set := cpuset.New(rapid.SliceOf(rapid.IntRange(0, MaxCPUs-1)).Draw(t, "cpus")...)
		again, err := ParseCPUs(" " + set.String() + "\n")
		if err != nil || !again.Equals(set) {
			t.Fatalf("%q came back as %q: %v", set, again, err)
		}
	})
}

func FuzzParseCPUs(f *testing.F) {
	for _, seed := range []string{"", "0-3,8", "0-99999999999", "+1", "1-", ",,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		set, err := ParseCPUs(list)
		if err != nil {
			return
		}
		for _, id := range set.UnsortedList() {
			if id < 0 || id >= MaxCPUs {
				t.Fatalf("%q holds CPU %d", list, id)
			}
		}
		if again, err := ParseCPUs(set.String()); err != nil || !again.Equals(set) {
			t.Fatalf("%q came back as %q: %v", set, again, err)
		}
	})
}

// FuzzRead replaces the content of one file of a fixture.
func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txtar")
	var fixtures [][]txtar.File
	for i, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		fixtures = append(fixtures, archive.Files)
		for j, file := range archive.Files {
			f.Add(uint(i), uint(j), file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, i, j uint, content []byte) {
		files := fixtures[i%uint(len(fixtures))]
		changed := tree(&txtar.Archive{Files: files})
		changed[files[j%uint(len(files))].Name].Data = content
		m, err := readTree(changed)
		if err != nil {
			return
		}
		if len(m.CPUs) == 0 || len(m.Nodes) == 0 || m.Online().Size() != len(m.CPUs) || m.Sockets() < 1 {
			t.Fatalf("incomplete: %s", describe(m))
		}
		p, err := m.Place(Request{})
		if err == nil && (p.Target.IsEmpty() || p.Interferer.IsEmpty() || !p.Target.Intersection(p.Interferer).IsEmpty()) {
			t.Fatalf("bad placement: %s", describePlacement(p))
		}
	})
}
