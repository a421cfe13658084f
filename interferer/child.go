package interferer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/reexec"
)

// role makes a process an interferer. Its argument is a childConfig.
const role reexec.Role = "interferer"

// Files that the child inherits, as os/exec numbers them.
const (
	pageDescriptor = 3 + iota
	// reportDescriptor takes reports, one JSON object each.
	reportDescriptor
	// aliveDescriptor ends when the parent does.
	aliveDescriptor
)

// childConfig is passed to the child at its start.
type childConfig struct {
	CPUs       []int         `json:"cpus"`
	PartBytes  int64         `json:"partBytes"`
	MemoryNode *int          `json:"memoryNode,omitempty"`
	Parent     int           `json:"parent"`
	Deadline   time.Duration `json:"deadline"`
	RealTime   bool          `json:"realTime,omitempty"`
}

// report is a message of the child. The first says that it is ready, or why it is
// not; a later one says why it ends before it was asked to.
type report struct {
	Ready    bool     `json:"ready,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Fault    string   `json:"fault,omitempty"`
	// Reason names the sentinel that the fault wraps.
	Reason string `json:"reason,omitempty"`
}

// RunIfChild has to be the first statement of main, and of TestMain, in every
// program that calls [Start]. In a process that Start made it is the
// interferer and does not return; in every other process it does nothing.
func RunIfChild() { role.Run(runChild) }

// runChild returns the exit status.
func runChild(config string) int {
	reports := os.NewFile(reportDescriptor, "reports")
	send := json.NewEncoder(reports)
	err := childMain(config, func(r report) error { return send.Encode(r) })
	if err == nil || errors.Is(err, errStopped) || errors.Is(err, errOrphaned) {
		return 0
	}
	if send.Encode(faultOf(err)) != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func childMain(config string, send func(report) error) error {
	var c childConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("%s: %w: the interferer sets this variable itself: unset it", role.Variable(), err)
	}
	go exitWithParent()
	page, err := mapControlPage(os.NewFile(pageDescriptor, "control page"), len(c.CPUs))
	if err != nil {
		return err
	}
	clock, err := newClock()
	if err != nil {
		return err
	}
	// When memory runs out, the kernel should end the interferer first.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	var warnings []string
	if c.RealTime {
		if err := beRealTime(); err != nil {
			warnings = append(warnings, fmt.Sprintf(
				"no real-time priority (%v): other processes may take CPU time from the interferer; run as root or with CAP_SYS_NICE", err))
			c.RealTime = false
		}
	}

	prepared, ended := startWorkers(c, page, clock)
	var buffers []*memory.Buffer
	for range c.CPUs {
		p := <-prepared
		if p.err != nil {
			return p.err
		}
		buffers = append(buffers, p.buffer)
	}
	warnings = append(warnings, hugePageWarnings(buffers, c.PartBytes*int64(len(c.CPUs)))...)
	if err := send(report{Ready: true, Warnings: warnings}); err != nil {
		return errOrphaned
	}
	for range c.CPUs {
		// A fault of one thread is a reason to end for all.
		if err := <-ended; !errors.Is(err, errStopped) {
			return err
		}
	}
	return nil
}

// prepared says that a thread is ready to follow settings, or why it is not.
type prepared struct {
	buffer *memory.Buffer
	err    error
}

// startWorkers starts one thread for each CPU.
func startWorkers(c childConfig, page *controlPage, clock clock) (<-chan prepared, <-chan error) {
	ready, ended := make(chan prepared, len(c.CPUs)), make(chan error, len(c.CPUs))
	for index := range c.CPUs {
		go func() {
			// Never unlocked: the thread is pinned, and ends with the work.
			runtime.LockOSThread()
			w, buffer, err := newWorker(c, index, page, clock)
			if err != nil {
				ready <- prepared{err: fmt.Errorf("thread %d: %w", index, err)}
				return
			}
			ready <- prepared{buffer: buffer}
			ended <- w.run()
		}()
	}
	return ready, ended
}

// hugePageWarnings says what of the buffers is not on huge pages. It is silent where other
// pages are larger than the 4 KiB with which the loss was measured: huge ones may then be
// larger than a buffer, as the 512 MiB of Arm kernels with pages of 64 KiB.
func hugePageWarnings(buffers []*memory.Buffer, total int64) []string {
	if total < memory.HugePage || unix.Getpagesize() > smallPage {
		return nil
	}
	huge, err := memory.HugeBytes(buffers...)
	if err != nil {
		return []string{fmt.Sprintf("unknown whether the buffers are on huge pages: %v", err)}
	}
	// The edges of a buffer need not be.
	if huge >= total-total/10 {
		return nil
	}
	return []string{smallPagesWarning(huge, total, memory.HugePagesOff(os.DirFS("/")))}
}

const smallPage = 4 << 10

// smallPagesWarning warns of buffers of which only a part is on huge pages; off says that
// the system gives none.
func smallPagesWarning(huge, total int64, off bool) string {
	remedy := memory.HugePagesRemedy
	if !off {
		remedy = "the system gives them, but has too few free: free memory, or echo 1 > /proc/sys/vm/compact_memory"
	}
	return fmt.Sprintf("only %d of %d MiB of the buffers are on huge pages, which costs up to 15%% of the bandwidth: %s",
		huge>>20, total>>20, remedy)
}

// exitWithParent ends the process when the parent has: that closes the other
// end of the pipe. It is one of three ways; a thread at real-time priority
// would not let it run.
func exitWithParent() {
	var b [1]byte
	for {
		n, err := unix.Read(aliveDescriptor, b[:])
		if n == 0 && err == nil || err != nil && !errors.Is(err, unix.EINTR) {
			os.Exit(0)
		}
	}
}

// command returns that of the child: the Go runtime is told to leave the streaming
// threads alone.
func (c childConfig) command() (*exec.Cmd, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("configuration of the interferer: %w", err)
	}
	cmd := role.Command(string(text))
	cmd.Env = append(cmd.Env,
		// One more than the streaming threads, for the rest.
		"GOMAXPROCS="+strconv.Itoa(len(c.CPUs)+1),
		"GOGC=off",
		"GOMEMLIMIT=off",
		"GODEBUG=asyncpreemptoff=1",
	)
	return cmd, nil
}
