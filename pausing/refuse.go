package pausing

import (
	"fmt"
	"os"
	"slices"

	"bandmate.dev/bandmate/internal/procstat"
)

// refuse returns an error that wraps ErrRefused for a process that must not be
// paused. A root is one that was asked for by name.
func refuse(pid int, st procstat.Stat, root bool) error {
	refusal := func(why string) error {
		return fmt.Errorf("process %d (%s) %w: %s", pid, st.Name, ErrRefused, why)
	}
	switch {
	case pid == 1:
		return refusal("it is the first process of this machine or container")
	case st.Flags&kernelThread != 0:
		return refusal("it is a thread of the kernel")
	case pid == os.Getpid():
		return refusal("it is this process")
	case slices.Contains(ancestors(), pid):
		return refusal("this process was started from it")
	}
	if tracer := readStatus(pid).number("TracerPid", 10); tracer != 0 {
		return refusal(fmt.Sprintf("process %d traces it, which would keep it stopped; end the debugger or strace", tracer))
	}
	if root {
		return refuseForParent(st, refusal)
	}
	return nil
}

// refuseForParent refuses a process whose parent would take a pause for Ctrl-Z, or undo it.
func refuseForParent(st procstat.Stat, refusal func(string) error) error {
	if st.Parent == os.Getpid() || st.Parent <= 1 {
		return nil
	}
	parent, err := readStat(st.Parent)
	if err != nil {
		return nil //nolint:nilerr // it has ended, so nobody watches
	}
	switch {
	case slices.Contains([]string{"tmux: server", "screen"}, parent.Name):
		return refusal(fmt.Sprintf("%s, which is process %d, would continue it at once; pause the cgroup of the program, or start it from a shell in the window and pause that program", parent.Name, st.Parent))
	case slices.Contains([]string{"sudo", "su", "doas", "runuser", "sg", "newgrp", "script", "nsenter"}, parent.Name):
		return refusal(fmt.Sprintf("%s would stop as well; pause %s itself, which is process %d", parent.Name, parent.Name, st.Parent))
	case st.Terminal != 0 && st.Group == st.Foreground && (st.Parent == st.Session || isJob(st, parent)):
		return refusal("it runs in the foreground of a terminal, where its shell would take a pause for Ctrl-Z; press Ctrl-Z there and enter bg")
	}
	return nil
}

// isJob reports whether a process is what a shell with job control started: it is in a process
// group of its own. Shells started from another one do not lead their session.
func isJob(st, parent procstat.Stat) bool {
	return parent.Session == st.Session && parent.Group != st.Group
}

// ancestors lists the processes from which this one was started.
func ancestors() []int {
	var list []int
	for pid := os.Getppid(); pid > 0 && !slices.Contains(list, pid); {
		list = append(list, pid)
		st, err := readStat(pid)
		if err != nil {
			break
		}
		pid = st.Parent
	}
	return list
}
