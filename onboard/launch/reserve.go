package launch

import (
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/sysfile"
)

// reserveLimit bounds the memory that is kept for runs to come.
const reserveLimit = 2 << 30

// reserve holds as much memory between runs as the runs take. A hypervisor takes
// free memory back within a second or two (free page reporting of virtio-balloon)
// and backs it again at a few hundred MB/s, which would count as the
// application's time and can double a run of a quarter of a second. Memory that is
// held here until just before a run stays backed. Without such a hypervisor this
// costs a few milliseconds between runs. Failing to get memory is harmless.
type reserve struct {
	mu      sync.Mutex
	held    *memory.Buffer
	known   bool
	running map[int]int64
	most    int64
	// usual is the most that a command took, by its command line.
	usual map[string]int64
}

// begin releases the memory for a command that is about to start.
func (r *reserve) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release()
	// A child's ru_maxrss starts with the peak of the process that forks it.
	// Writing 5 resets that peak (proc_pid_clear_refs(5)); without the reset, the
	// use of the command is unknown.
	r.known = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
}

// started notes a running command.
func (r *reserve) started(pid int, command string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running, r.usual = map[int]int64{}, map[string]int64{}
	}
	r.running[pid] = r.usual[command]
	var all int64
	for _, bytes := range r.running {
		all += bytes
	}
	r.most = max(r.most, all)
}

// ended holds the memory again once no command runs, if hold is true: to take it is
// traffic. usage is the kernel's account
// of the command (getrusage(2): ru_maxrss is in kilobytes).
func (r *reserve) ended(pid int, command string, usage any, hold bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, pid)
	if used, ok := usage.(*syscall.Rusage); ok && used != nil && r.known {
		r.usual[command] = max(r.usual[command], used.Maxrss<<10)
		r.most = max(r.most, r.usual[command])
	}
	if hold && len(r.running) == 0 {
		r.hold(r.most)
	}
}

func (r *reserve) hold(bytes int64) {
	r.release()
	bytes = min(bytes, reserveLimit, freeMemory(os.DirFS("/sys"), os.DirFS("/proc"))/4)
	if bytes < int64(unix.Getpagesize()) {
		return
	}
	held, err := memory.New(bytes, nil)
	if err != nil {
		return
	}
	held.Touch()
	r.held = held
}

func (r *reserve) release() {
	_ = r.held.Free()
	r.held = nil
}

// freeMemory returns the bytes that nobody uses and that the control groups of this process
// permit; 0 where the kernel does not say. sys and proc are the roots of sysfs and procfs.
func freeMemory(sys, proc fs.FS) int64 {
	system, _ := sysfile.MemInfo(proc, "meminfo")
	available, _ := memory.Available(sys, proc, nil)
	return min(system["MemFree"], available)
}
