package launch

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/pausing"
)

const (
	// reapGrace is how long a process that a command started may outlive it, such
	// as the daemon that an MPI program starts for itself.
	reapGrace = 300 * time.Millisecond
	// reapLimit bounds the time spent on processes that keep starting others.
	reapLimit = 5 * time.Second
	// execLimit is how long a process that shows no environment is looked at again: in the
	// middle of execve(2) none does.
	execLimit = 20 * time.Millisecond
)

// begin returns the number of a new run.
func (l *Launcher) begin() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.runs[l.last] = true
	return l.last
}

// end ends a run, whose processes then are orphans. It may be called twice.
func (l *Launcher) end(run int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, run)
}

// orphan is a process that a command forked and that this process adopted when its parent
// ended.
type orphan struct {
	child
	// ours says that it is of the run that has ended, as far as that is known.
	ours bool
}

// reap ends a run whose command, the process pid, has ended. It waits for the orphans of the
// run and of runs that ended earlier, stops those that stay, and returns how many of the run
// it stopped.
func (l *Launcher) reap(run, pid int) int {
	l.Forget(pid)
	l.end(run)
	return reapWhat(func() ([]orphan, bool) { return l.orphans(run, pid) })
}

// reapWhat is reap of what look finds. It looks again where that is not sure of some.
func reapWhat(look func() (found []orphan, sure bool)) (stopped int) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		left, sure := look()
		if len(left) == 0 && (sure || time.Since(begin) > execLimit) || time.Since(begin) > reapLimit {
			return stopped
		}
		for _, p := range left {
			ended := hasEnded(p.ProcStat)
			if !ended && time.Since(begin) > reapGrace {
				if p.ours {
					stopped++
				}
				_ = unix.Kill(p.PID, unix.SIGKILL)
				ended = true
			}
			if ended {
				_, _ = unix.Wait4(p.PID, nil, 0, nil)
			}
		}
	}
}

// hasEnded reports whether no thread of a process is left. Others may run on after the first.
func hasEnded(p procfs.ProcStat) bool {
	return (p.State == "Z" || p.State == "X") && p.NumThreads <= 1
}

// orphans lists this process's children that are not known, except those of commands that
// still run. A watchdog of pauses that has just started is none, nor is what is in the session
// of this process: commands have sessions of their own. It is not sure where a child has no
// environment that would tell.
func (l *Launcher) orphans(run, pid int) (left []orphan, sure bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	session, _ := unix.Getsid(0)
	sure = true
	for _, p := range children() {
		if l.known[p.PID] || l.known[p.Session] || p.Session == session || p.isWatchdog() {
			continue
		}
		of, told := l.runOf(p)
		switch {
		case hasEnded(p.ProcStat):
		case of == 0 && p.Session != pid && len(l.runs) > 0:
			sure = sure && told
			continue
		case l.runs[of]:
			continue
		}
		left = append(left, orphan{p, of == run || of == 0})
	}
	return left, sure
}

// child is a child of this process.
type child struct {
	procfs.ProcStat
	proc procfs.Proc
}

func children() []child {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	var list []child
	for _, p := range all {
		// A process that has just ended cannot be read.
		if stat, err := p.Stat(); err == nil && stat.PPID == os.Getpid() {
			list = append(list, child{stat, p})
		}
	}
	return list
}

func (c child) isWatchdog() bool {
	line, err := c.proc.CmdLine()
	return err == nil && len(line) > 0 && line[0] == pausing.WatchdogName
}

// runOf returns the number of the run that a process is of; 0 where its environment does not
// tell, as of a process that has cleared it. Told says that there is one.
func (l *Launcher) runOf(p child) (run int, told bool) {
	environment, err := p.proc.Environ()
	if err != nil {
		return 0, false
	}
	for _, variable := range environment {
		if number, ok := strings.CutPrefix(variable, runEnvironment+"="+l.guard.mark+markEnd); ok {
			run, _ = strconv.Atoi(number)
			return run, true
		}
	}
	return 0, len(environment) > 0
}
