package interferer

import (
	"os"
	"testing"

	"k8s.io/utils/cpuset"
)

func TestMain(m *testing.M) {
	RunIfChild()
	if runHelper() {
		return
	}
	os.Exit(m.Run())
}

// smallOptions occupy one of the CPUs that this process may use, the last one,
// with little memory.
func smallOptions(t testing.TB) Options {
	t.Helper()
	allowed, err := affinity(os.Getpid())
	if err != nil {
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
