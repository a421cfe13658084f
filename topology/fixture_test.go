package topology

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/golden"
)

// tree makes a file system of an archive whose files are under sys/ and proc/.
func tree(archive *txtar.Archive) fstest.MapFS {
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		if fs.ValidPath(f.Name) {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return files
}

func fixture(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return tree(archive)
}

func readTree(files fs.FS) (*Machine, error) {
	sys, err := fs.Sub(files, "sys")
	if err != nil {
		return nil, err
	}
	proc, err := fs.Sub(files, "proc")
	if err != nil {
		return nil, err
	}
	return Read(sys, proc)
}

func machine(t testing.TB, name string) *Machine {
	t.Helper()
	m, err := readTree(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustParse(t testing.TB, list string) cpuset.CPUSet {
	t.Helper()
	set, err := ParseCPUs(list)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestReadAndPlace(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			m := machine(t, name)
			p, err := m.Place(Request{})
			if err != nil {
				t.Fatal(err)
			}
			wantGolden(t, name, describe(m)+describePlacement(p))
		})
	}
}

func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Want(t, filepath.Join("testdata", name+".golden"), []byte(got))
}

func describe(m *Machine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %q, virtual machine %v %q, %d sockets, %d MiB\n",
		m.CPUModel, m.VirtualMachine, m.Hypervisor, m.Sockets(), m.MemoryBytes>>20)
	for _, c := range m.CPUs {
		fmt.Fprintf(&b, "cpu %d: core %d, socket %d, node %d\n", c.ID, c.Core, c.Socket, c.Node)
	}
	for _, n := range m.Nodes {
		fmt.Fprintf(&b, "node %d: cpus %q, %d MiB, distances %v\n", n.ID, n.CPUs, n.MemoryBytes>>20, n.Distances)
	}
	for _, c := range m.Caches {
		fmt.Fprintf(&b, "L%d %s: %d KiB, cpus %s\n", c.Level, c.Type, c.Bytes>>10, c.CPUs)
	}
	return b.String()
}

func describePlacement(p Placement) string {
	var b strings.Builder
	node, shared := "unbound", "unknown"
	if p.MemoryNode != nil {
		node = fmt.Sprint(*p.MemoryNode)
	}
	if p.SharedLastLevelCache != nil {
		shared = fmt.Sprint(*p.SharedLastLevelCache)
	}
	fmt.Fprintf(&b, "\ntarget %s, interferer %s, memory node %s, shared last-level cache %s\n%s\n",
		p.Target, p.Interferer, node, shared, p.Explanation)
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}
