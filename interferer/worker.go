package interferer

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/procstat"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// How often a thread does what.
const (
	// A chunk cannot be preempted, so it is short. But each costs two looks at the
	// clock, which wait for all loads.
	smallChunk = 16 << 10
	largeChunk = 64 << 10
	// largeChunkRate is the rate per thread from which chunks are large.
	largeChunkRate = 4 * units.GigabytePerSecond
	// unpacedChunks are done between two looks at the clock.
	unpacedChunks = 8
	// randomLines are visited in a chunk of random traffic.
	randomLines = 512

	// longestSpin bounds the time for which a thread sees no new setting.
	longestSpin = 50 * time.Microsecond
	// spinOvershoot is by how much kernel.Spin may last too long.
	spinOvershoot = 4 * time.Microsecond
	// publishEvery bounds the age of a streaming thread's record.
	publishEvery = 50 * time.Microsecond
	// inspectEvery is the time between two looks at what could end the thread.
	inspectEvery = time.Millisecond
	// idleSleep is the same in the mode Idle.
	idleSleep = 100 * time.Millisecond
	// lookAtParentEvery is the time between two looks whether the parent is stopped.
	lookAtParentEvery = 100 * time.Millisecond
	// windowLength is that of the windows of Achieved.Variation.
	windowLength = 10 * time.Millisecond
)

// errStopped ends a thread that was asked to stop.
var errStopped = errors.New("stopped")

// worker is one thread of the interferer. It follows the settings of the
// control page until it is asked to stop, its parent has gone, its time is
// over, or it has lost its CPU. It checks for all of these itself, because at
// real-time priority no other thread may run on its CPU. While its parent is stopped
// it sleeps.
type worker struct {
	index, cpu int
	page       *controlPage
	clock      clock
	buffer     []byte
	kernels    kernel.Set
	// gapStep is the time of a step of a kernel's gap, in nanoseconds.
	gapStep float64
	parent  int
	// parentStopped reports whether the parent is stopped, as by Ctrl-Z; nil for never.
	parentStopped func() bool
	// lookedAtParent is when the thread last asked.
	lookedAtParent time.Duration
	// deadline is when the time is over, on CLOCK_MONOTONIC.
	deadline time.Duration

	record record
	// offset is where in the buffer the sequential stream stands, and visits
	// where the random one does.
	offset int
	visits kernel.RandomState
	// inspected is when the thread last looked around.
	inspected time.Duration
	// begun and begunCPU are the time and the thread's CPU time when it began
	// to follow the setting; missed is how far the second fell behind since.
	begun, begunCPU, missed time.Duration
	// demanding says that each moment without the CPU is lost, because the
	// thread would have used it.
	demanding bool
	window    Counters
	priority  realTime
}

// run follows settings until there is a reason to end: errStopped, or a fault.
func (w *worker) run() error {
	for {
		sequence := w.page.header.sequence.Load()
		if w.page.header.stop.Load() != 0 {
			w.publish(w.clock.now(), false)
			return errStopped
		}
		setting, err := w.page.header.setting.load()
		if err != nil {
			return err
		}
		if err := w.follow(setting, sequence); err != nil {
			return err
		}
	}
}

// follow acknowledges one setting and does as it says, until there is another
// one (nil) or a reason to end.
func (w *worker) follow(s Setting, sequence uint32) error {
	now := w.clock.now()
	w.inspected, w.window = now, Counters{}
	w.begun, w.begunCPU, w.missed = now, threadCPUTime(), 0
	w.publish(now, s.Mode == Stream)
	w.page.slots[w.index].acknowledged.Store(sequence)
	switch s.Mode {
	case Stream:
		return w.stream(s, sequence)
	case Spin:
		return w.spin(sequence)
	default:
		return w.idle(sequence)
	}
}

func (w *worker) idle(sequence uint32) error {
	for w.current(sequence) {
		w.page.sleep(sequence, min(idleSleep, max(0, w.deadline-w.clock.now())))
		if err := w.inspect(w.clock.now()); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) spin(sequence uint32) error {
	w.demanding = true
	for w.current(sequence) {
		kernel.Spin(longestSpin)
		if err := w.look(w.clock.now(), false); err != nil {
			return err
		}
	}
	w.account(w.clock.now())
	return nil
}

// stream makes traffic. The rate of each thread is an even part of the whole.
func (w *worker) stream(s Setting, sequence uint32) error {
	mix, err := kernel.NewMix(s.ReadShare)
	if err != nil {
		return err
	}
	rate := s.Bandwidth / units.Bandwidth(len(w.page.slots))
	chunk, chunks := smallChunk, 1
	if rate == 0 || rate >= largeChunkRate {
		chunk = largeChunk
	}
	if rate == 0 {
		chunks = unpacedChunks
	}
	w.demanding = rate == 0
	space := spacing{step: w.gapStep}
	groups := chunk / units.LineBytes / kernel.GroupLines
	if s.Pattern == Random {
		groups = randomLines / kernel.GroupLines
	}
	visited := w.buffer
	if s.Footprint > 0 {
		visited = visited[:min(int64(len(visited)), s.Footprint)]
	}
	pace := newPacer(rate, w.clock.now())
	for w.current(sequence) {
		var done kernel.Traffic
		for range chunks {
			if s.Pattern == Random {
				done = done.Add(w.kernels.Random(visited, &mix, &w.visits, randomLines, s.InFlight, space.between()))
			} else {
				done = done.Add(w.kernels.Sequential(w.next(chunk), &mix, space.between()))
			}
		}
		now := w.clock.now()
		w.record.readBytes += done.ReadBytes
		w.record.writeBytes += done.WriteBytes
		wait, lost := pace.sent(done.Total(), now)
		w.record.late += lost
		space.learn(pace.time(done.Total()), wait, groups)
		if err := w.look(now, true); err != nil {
			return err
		}
		if wait > 0 {
			if err := w.await(now+wait, sequence); err != nil {
				return err
			}
		}
	}
	w.account(w.clock.now())
	return nil
}

// next returns the next chunk of the buffer, all around.
func (w *worker) next(chunk int) []byte {
	if w.offset+chunk > len(w.buffer) {
		w.offset = 0
	}
	part := w.buffer[w.offset : w.offset+chunk]
	w.offset += chunk
	return part
}

// await spins until a moment, or until there is another setting: a sleep would
// overshoot by more than a chunk takes.
func (w *worker) await(moment time.Duration, sequence uint32) error {
	for w.current(sequence) {
		now := w.clock.now()
		left := moment - now
		if left <= 0 {
			return nil
		}
		if err := w.look(now, true); err != nil {
			return err
		}
		if left > spinOvershoot {
			kernel.Spin(min(left-spinOvershoot, longestSpin))
		}
	}
	return nil
}

// current reports whether sequence is still that of the latest setting.
func (w *worker) current(sequence uint32) bool {
	return w.page.header.sequence.Load() == sequence
}

// look publishes and inspects when either is due.
func (w *worker) look(now time.Duration, streaming bool) error {
	if now-w.record.time < publishEvery {
		return nil
	}
	w.publish(now, streaming)
	if now-w.inspected < inspectEvery {
		return nil
	}
	if streaming && w.index == 0 {
		w.observe(now)
	}
	w.account(now)
	if err := w.priority.keep(now); err != nil {
		return err
	}
	return w.inspect(now)
}

func (w *worker) publish(now time.Duration, streaming bool) {
	w.record.time, w.record.streaming = now, streaming
	w.page.slots[w.index].publish(w.record)
}

// account notes how long the thread was without its CPU since it last did.
func (w *worker) account(now time.Duration) {
	missed := (now - w.begun) - (threadCPUTime() - w.begunCPU)
	more := missed - w.missed
	if more <= 0 {
		return
	}
	w.missed = missed
	w.record.offCPU += more
	if w.demanding {
		w.record.late += more
	}
}

// observe adds a window of all threads' traffic when one is over.
func (w *worker) observe(now time.Duration) {
	if w.window.Time != 0 && now-w.window.Time < windowLength {
		return
	}
	c := w.page.counters(now)
	if w.window.Time != 0 {
		w.record.windows.add(c.Since(w.window).Traffic.Total())
	}
	w.window = c
}

// inspect looks for reasons to end, once the parent is not stopped.
func (w *worker) inspect(now time.Duration) error {
	now = w.awaitParent(now)
	w.inspected = now
	if unix.Getppid() != w.parent {
		return errOrphaned
	}
	if now >= w.deadline {
		return ErrMaxDuration
	}
	cpu, err := currentCPU()
	if err != nil {
		return err
	}
	if cpu != w.cpu {
		return fmt.Errorf("thread %d was moved from CPU %d to %d (CPU taken offline, or cpuset or affinity changed): %w",
			w.index, w.cpu, cpu, ErrCPU)
	}
	return nil
}

// awaitParent returns the time when the parent is not stopped, or when the time is
// over. Nobody would end the traffic meanwhile.
func (w *worker) awaitParent(now time.Duration) time.Duration {
	if w.parentStopped == nil || now-w.lookedAtParent < lookAtParentEvery {
		return now
	}
	for sequence := w.page.header.sequence.Load(); w.parentStopped() && now < w.deadline; now = w.clock.now() {
		w.page.sleep(sequence, min(idleSleep, w.deadline-now))
	}
	w.lookedAtParent = now
	return now
}

// stoppedProcess returns what reports whether a process is stopped; it is not once the
// process has ended.
func stoppedProcess(pid int) func() bool {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	// Nothing is allocated later, because no garbage is collected.
	start := make([]byte, 64)
	return func() bool {
		n, err := unix.Pread(fd, start, 0)
		if err != nil {
			return false
		}
		return procstat.State(start[:n]) == 'T'
	}
}

// newWorker prepares the calling thread, which must be locked: it moves to its
// CPU and fills its buffer there, so that the memory is local.
func newWorker(c childConfig, index int, page *controlPage, clock clock) (*worker, *memory.Buffer, error) {
	cpu := c.CPUs[index]
	if err := confine(cpuset.New(cpu)); err != nil {
		return nil, nil, err
	}
	buffer, err := newBuffer(c.PartBytes, c.MemoryNode, uint64(index))
	if err != nil {
		return nil, nil, err
	}
	return &worker{
		index:         index,
		cpu:           cpu,
		page:          page,
		clock:         clock,
		buffer:        buffer.Bytes(),
		kernels:       kernel.Best(),
		gapStep:       kernel.GapStep(),
		parent:        c.Parent,
		parentStopped: stoppedProcess(c.Parent),
		deadline:      c.Deadline,
		visits:        kernel.NewRandomState(uint64(index)),
		priority:      realTime{wanted: c.RealTime},
	}, buffer, nil
}

// newBuffer takes memory to stream through and fills all of it with random bytes,
// because traffic of zeros may be faster than any other.
func newBuffer(size int64, node *int, seed uint64) (*memory.Buffer, error) {
	b, err := memory.New(size, node)
	if errors.Is(err, unix.ENOMEM) {
		err = fmt.Errorf("%w: ask for smaller buffers: %w", err, ErrMemory)
	}
	if err != nil {
		return nil, err
	}
	kernel.Fill(b.Bytes(), seed)
	return b, nil
}

// confine moves the calling thread, which must be locked, to CPUs.
func confine(cpus cpuset.CPUSet) error {
	if err := topology.Confine(0, cpus); err != nil {
		return fmt.Errorf("%w: %w", ErrCPU, err)
	}
	return nil
}

// currentCPU returns the CPU that the calling thread runs on.
func currentCPU() (int, error) {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0, fmt.Errorf("getcpu: %w", errno)
	}
	return int(cpu), nil
}
