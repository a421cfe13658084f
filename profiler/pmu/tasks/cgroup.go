package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/profiler"
)

// CgroupRoot is where cgroups are mounted.
const CgroupRoot = "/sys/fs/cgroup"

// Cgroup is a control group with all groups below it. Pods are such groups.
type Cgroup struct {
	name string
	root *os.Root
	fsys fs.FS
}

var _ profiler.Processes = (*Cgroup)(nil)

// OpenCgroup opens a group by its folder; one that is not absolute is below
// [CgroupRoot]. Close it.
func OpenCgroup(folder string) (*Cgroup, error) {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(CgroupRoot, folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cgroup: %w; list them with: systemd-cgls", err)
	}
	c := &Cgroup{name: folder, root: root, fsys: root.FS()}
	if _, err := fs.Stat(c.fsys, "cgroup.procs"); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not a cgroup: %w", folder, err), root.Close())
	}
	return c, nil
}

// Close ends the use of c.
func (c *Cgroup) Close() error { return c.root.Close() }

// String names the group.
func (c *Cgroup) String() string { return "cgroup " + c.name }

// Threads lists the threads in the group and below it; none after its removal.
func (c *Cgroup) Threads() ([]int, error) {
	var threads []int
	err := fs.WalkDir(c.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		if !d.IsDir() {
			return nil
		}
		list, err := threadsIn(c.fsys, name)
		threads = append(threads, list...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	slices.Sort(threads)
	return slices.Compact(threads), nil
}

// ignoreGone ignores the removal of a group.
func ignoreGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

// threadsIn reads the threads of one group: in cgroup.threads of version 2, in
// tasks of version 1.
func threadsIn(fsys fs.FS, dir string) ([]int, error) {
	for _, name := range []string{"cgroup.threads", "tasks"} {
		data, err := read(fsys, path.Join(dir, name))
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return parseThreads(data)
	}
	return nil, nil
}

// parseThreads reads a file of one number a line. Threads of other PID
// namespaces are 0 there, and cannot be counted.
func parseThreads(data []byte) ([]int, error) {
	var threads []int
	for line := range bytes.Lines(data) {
		n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("thread %.20q is not a number", line)
		}
		if n == 0 {
			return nil, errors.New("the group has threads of another PID namespace: run on the host, or with the host's PID namespace")
		}
		threads = append(threads, n)
	}
	return threads, nil
}

// Wait returns when no process is left in the group or below it.
func (c *Cgroup) Wait(ctx context.Context) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		if populated, err := c.populated(); err != nil || !populated {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// populated reports whether there are processes. Version 2 says so itself, for
// all groups below:
//
//	populated 1
//	frozen 0
func (c *Cgroup) populated() (bool, error) {
	data, err := read(c.fsys, "cgroup.events")
	if isGone(err) {
		threads, err := c.Threads()
		return len(threads) > 0, err
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", c, err)
	}
	return strings.Contains(string(data), "populated 1"), nil
}

// FindPod returns the folder, below cgroups, of a pod by its UID. Kubelets with
// the systemd driver write the UID with underscores:
//
//	kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice
//	kubepods/burstable/pod1b4e28ba-2fa1-11d2-883f-0016d3cca427
func FindPod(cgroups fs.FS, uid string) (string, error) {
	want := strings.ToLower(uid)
	if len(want) < shortestUID || strings.ContainsAny(want, "/ ") {
		return "", fmt.Errorf("pod %q: want its UID, as kubectl get pod NAME -o jsonpath={.metadata.uid} prints it", uid)
	}
	systemd := "pod" + strings.ReplaceAll(want, "-", "_") + ".slice"
	found := ""
	err := fs.WalkDir(cgroups, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return ignoreGone(err)
		case !d.IsDir():
			return nil
		case d.Name() == "pod"+want, d.Name() == systemd, strings.HasSuffix(d.Name(), "-"+systemd):
			found = name
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("looking for pod %s: %w", uid, err)
	}
	if found == "" {
		return "", fmt.Errorf("pod %s: %w: no cgroup of its name on this machine; run where the pod runs", uid, ErrEnded)
	}
	return found, nil
}

// shortestUID keeps a part of one from matching.
const shortestUID = 32
