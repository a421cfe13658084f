package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
)

func page(path string) *atomic.Uint64 {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	_ = f.Truncate(4096)
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*atomic.Uint64)(unsafe.Pointer(&m[0]))
}

func work(name, path string) {
	_ = binary.LittleEndian
	c := page(path)
	debugOff()
	switch name {
	case "fp":
		a := [4]float64{1, 2, 3, 4}
		for {
			for i := 0; i < 5000; i++ {
				for j := range a {
					a[j] = a[j]*1.0000001 + 1e-9
				}
			}
			if a[0] > 1e100 {
				a = [4]float64{1, 2, 3, 4}
			}
			c.Add(1)
		}
	case "chase":
		n := uint32(1 << 21)
		w := huge(int(n) * 64)
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&w[0])), n*16)
		perm := make([]uint32, n)
		for i := range perm {
			perm[i] = uint32(i)
		}
		for i := len(perm) - 1; i > 0; i-- {
			j := rand.IntN(i)
			perm[i], perm[j] = perm[j], perm[i]
		}
		for i := range perm {
			words[uint32(i)*16] = perm[i] * 16
		}
		perm = nil
		x := uint32(0)
		for {
			for i := 0; i < 512; i++ {
				x = words[x]
			}
			c.Add(1 + uint64(x>>31))
		}
	case "triad":
		n := 1 << 22
		w := huge(3 * 8 * n)
		f := unsafe.Slice((*float64)(unsafe.Pointer(&w[0])), 3*n)
		x, y, z := f[:n], f[n:2*n], f[2*n:]
		for {
			for o := 0; o < n; o += 4096 {
				a, b, d := x[o:o+4096], y[o:o+4096], z[o:o+4096]
				for i := range a {
					a[i] = b[i] + 1.5*d[i]
				}
				c.Add(1)
			}
		}
	}
}

func debugOff() {}

func huge(n int) []byte {
	m, err := unix.Mmap(-1, 0, n+(2<<20), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE)
	for i := 0; i < len(m); i += 4096 {
		m[i] = 1
	}
	return m
}

type clock struct{ start time.Time }

func (c clock) Now() time.Duration { return time.Since(c.start) }
func (c clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

type prog struct {
	pid   int
	count *atomic.Uint64
	spin  *interferer.Interferer
}

func (p *prog) Switch(on bool) error {
	if on {
		if p.spin != nil {
			if err := p.spin.Request(interferer.Setting{Mode: interferer.Idle}); err != nil {
				return err
			}
		}
		return unix.Kill(p.pid, unix.SIGCONT)
	}
	if err := unix.Kill(p.pid, unix.SIGSTOP); err != nil {
		return err
	}
	if p.spin != nil {
		return p.spin.Request(interferer.Setting{Mode: interferer.Spin})
	}
	return nil
}
func (p *prog) Read() (float64, error) { return float64(p.count.Load()), nil }
func (p *prog) Rate() float64          { return 20000 }

type press struct {
	i  *interferer.Interferer
	on interferer.Setting
}

func (p *press) Switch(on bool) error {
	if on {
		return p.i.Request(p.on)
	}
	return p.i.Request(interferer.Setting{Mode: interferer.Spin})
}
func (p *press) Read() (float64, error) {
	c := p.i.Counters()
	return float64(c.ReadBytes + c.WriteBytes), nil
}
func (p *press) Rate() float64 { return 0 }

func start(name string, cpu int) *prog {
	path := fmt.Sprintf("/dev/shm/proto-%s-%d", name, cpu)
	os.Remove(path)
	c := page(path)
	cmd := exec.Command("/proc/self/exe", "work", name, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	tids, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
	for _, t := range tids {
		n, _ := strconv.Atoi(t.Name())
		_ = topology.Confine(n, cpuset.New(cpu))
	}
	for c.Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	_ = unix.Kill(cmd.Process.Pid, unix.SIGSTOP)
	return &prog{pid: cmd.Process.Pid, count: c}
}

func main() {
	interferer.RunIfChild()
	if len(os.Args) > 2 && os.Args[1] == "work" {
		work(os.Args[2], os.Args[3])
	}
	ctx := context.Background()
	slice, _ := time.ParseDuration(os.Args[1])
	settle, _ := time.ParseDuration(os.Args[2])
	blocks, _ := strconv.Atoi(os.Args[3])
	runtime.LockOSThread()
	self, err := interferer.Start(ctx, interferer.Options{CPUs: cpuset.New(1), MaxDuration: 10 * time.Minute})
	if err != nil {
		panic(err)
	}
	defer self.Close()
	spin0, err := interferer.Start(ctx, interferer.Options{CPUs: cpuset.New(0), BufferBytes: 1 << 20, MaxDuration: 10 * time.Minute, AllowAllCPUs: true})
	if err != nil {
		panic(err)
	}
	defer spin0.Close()
	var progs [2]map[string]*prog
	for cpu := range progs {
		progs[cpu] = map[string]*prog{}
		for _, n := range []string{"fp", "chase", "triad"} {
			p := start(n, cpu)
			p.spin = [2]*interferer.Interferer{spin0, self}[cpu]
			progs[cpu][n] = p
		}
	}
	runtime.GOMAXPROCS(3)
	_ = topology.Confine(0, cpuset.New(1))
	fmt.Println("nice", unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -19))
	if os.Getenv("FIFO") != "" {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 5}
		fmt.Println("fifo", unix.SchedSetAttr(0, &attr, 0))
	}
	both, x, y := modulation.State(3), modulation.State(1), modulation.State(2)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	probe := func(ctx context.Context) (regime.Tag, error) {
		_ = self.Request(interferer.Setting{Mode: interferer.Idle})
		_ = spin0.Request(interferer.Setting{Mode: interferer.Idle})
		for {
			tag, err := regime.Probe(ctx, 0, 1)
			if err == nil {
				return tag, nil
			}
		}
	}
	measure := func(name string, a, b modulation.Party, aa bool) {
		cmp := []modulation.Comparison{{Name: "x", Party: 0, On: both, Off: x}, {Name: "y", Party: 1, On: both, Off: y}}
		bench := &modulation.Bench{Clock: clock{time.Now()}, Random: random, Parties: []modulation.Party{a, b}, Slicing: modulation.Slicing{Length: slice, Settle: settle}}
		plan := modulation.Plan{Bench: bench, Points: []modulation.Point{{States: []modulation.State{x, y, both}, Compare: cmp}},
			Precision: modulation.Precision{StandardError: 1e-9, Fewest: blocks, Most: blocks}, Probe: probe}
		t := time.Now()
		if err := plan.Run(ctx); err != nil {
			panic(err)
		}
		el := time.Since(t)
		for class, m := range plan.Outcome.Readings {
			fmt.Printf("%-22s %-13s", name, class)
			for _, n := range []string{"x", "y"} {
				e := modulation.Summarize(m[n], random)
				fmt.Printf("  %.3f ±%.3f sd %.3f ph %v", e.Performance, e.StandardError, e.Spread, e.Phases)
			}
			fmt.Printf("  n %d dropped %d  %.2fs\n", len(m["x"]), plan.Outcome.Dropped, el.Seconds())
		}
	}
	_ = math.Pi
	if os.Getenv("TRACE") != "" {
		ck := clock{time.Now()}
		for _, mode := range []string{"cont", "switch"} {
			q := progs[0]["fp"]
			_ = q.Switch(true)
			ck.Sleep(20 * time.Millisecond)
			last, lt := q.count.Load(), ck.Now()
			for i := 0; i < 60; i++ {
				if mode == "switch" && i%6 == 2 {
					_ = q.Switch(false)
				}
				if mode == "switch" && i%6 == 4 {
					_ = q.Switch(true)
				}
				ck.Sleep(time.Millisecond)
				n, t := q.count.Load(), ck.Now()
				fmt.Printf("%.0f/%.2f ", float64(n-last)/(t-lt).Seconds(), (t - lt).Seconds()*1000)
				last, lt = n, t
			}
			_ = q.Switch(false)
			fmt.Println()
		}
		return
	}
	for rep := 0; rep < 4; rep++ {
		for _, n := range []string{"fp", "chase", "triad"} {
			measure(n+"/int100", progs[0][n], &press{self, interferer.Setting{Mode: interferer.Stream, ReadShare: 1}}, false)
		}
		measure("triad/triad", progs[0]["triad"], progs[1]["triad"], false)
		measure("fp/triad", progs[0]["fp"], progs[1]["triad"], false)
		measure("chase/triad", progs[0]["chase"], progs[1]["triad"], false)
	}
}
