package measure

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

// watchesOccupancy returns what watches what a process holds of the caches, and closes it;
// nil where nothing counts that.
func watchesOccupancy() (watch func(pid int) (bench.Occupancy, error), closed func() error, err error) {
	host, err := pmu.OpenHost()
	if err != nil {
		return nil, nil, err
	}
	if !host.CountsOccupancy() {
		return nil, host.Close, nil
	}
	return func(pid int) (bench.Occupancy, error) { return watchProcess(host, pid) }, host.Close, nil
}

// watched is the occupancy of a process tree.
type watched struct {
	*pmu.Occupancy
	tree *tasks.Tree
}

// watchProcess returns an Occupancy and not a *watched, which would make one that is not nil of
// a nil pointer.
func watchProcess(host *pmu.Host, pid int) (bench.Occupancy, error) {
	tree, err := tasks.OpenTree(host.Proc, pid)
	if err != nil {
		return nil, err
	}
	o, err := host.WatchOccupancy(tree)
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return &watched{o, tree}, nil
}

func (w *watched) Close() error { return errors.Join(w.Occupancy.Close(), w.tree.Close()) }

// countedSet is what resctrl counts of a working set; nothing where it counts none.
type countedSet struct {
	app    *cli.App
	watch  func(pid int) (bench.Occupancy, error)
	closed func() error
	holds  bench.Occupancy
	// bytes is the last reading; nil without one.
	bytes *int64
}

func newCountedSet(a *cli.App) (*countedSet, error) {
	watch, closed, err := watchesOccupancy()
	return &countedSet{app: a, watch: watch, closed: closed}, err
}

// started watches an interferer that has not touched its memory yet.
func (c *countedSet) started(pid int) {
	if c.watch == nil {
		return
	}
	var err error
	if c.holds, err = c.watch(pid); err != nil {
		c.holds = nil
		c.app.Warn([]string{fmt.Sprintf("what the interferer holds of the cache is not counted: %v", err)})
	}
}

// read keeps what is held now.
func (c *countedSet) read() {
	if c.holds == nil {
		return
	}
	if bytes, known, err := c.holds.Bytes(); err == nil && known {
		c.bytes = new(int64(bytes))
	}
}

func (c *countedSet) close() error {
	var err error
	if c.holds != nil {
		err = c.holds.Close()
	}
	return errors.Join(err, c.closed())
}
