package interferer

import (
	"os"
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

func TestMain(m *testing.M) {
	kind := os.Getenv(helperEnvironment)
	if kind == helperForgetful {
		os.Exit(helperMain(kind))
	}
	RunIfChild()
	if kind != "" {
		os.Exit(helperMain(kind))
	}
	os.Exit(m.Run())
}

// smallOptions occupy one of the CPUs that this process may use, the last one,
// with little memory.
func smallOptions(t testing.TB) Options {
	allowed, err := topology.ProcessCPUs()
	if err != nil {
		if t == nil {
			panic(err)
		}
		t.Fatal(err)
	}
	cpus := allowed.List()
	return Options{
		CPUs:         cpuset.New(cpus[len(cpus)-1]),
		BufferBytes:  1 << 20,
		MemoryCap:    64 << 20,
		AllowAllCPUs: true,
	}
}
