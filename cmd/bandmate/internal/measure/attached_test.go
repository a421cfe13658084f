package measure_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/requires"
)

// closedLoop is a load generator for a service: it asks for the URL in its argument again
// and again, and prints a line for each answer.
func closedLoop() {
	for {
		if err := askOnce(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("answer")
	}
}

func askOnce(url string) error {
	r, err := http.Get(url) //nolint:gosec,noctx // the URL of the test, until the generator is killed
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return errors.Join(err, r.Body.Close())
}

// makeCgroup makes a cgroup of version 2, alone or beside version 1, or else of version 1.
func makeCgroup() (folder string, err error) {
	var faults []error
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"} {
		folder, err := os.MkdirTemp(root, "bandmate-test-")
		if err == nil {
			if _, err = os.Stat(filepath.Join(folder, "cgroup.procs")); err == nil {
				return folder, nil
			}
			err = errors.Join(err, os.Remove(folder))
		}
		faults = append(faults, err)
	}
	return "", errors.Join(faults...)
}

// cgroupsWork reports whether this user may make cgroups.
func cgroupsWork() (bool, error) {
	folder, err := makeCgroup()
	if err != nil {
		return os.Getenv(requires.Everything) != "", nil //nolint:nilerr // it is why not
	}
	return true, os.Remove(folder)
}

// cgroup makes a cgroup, whose folder is in the variable CGROUP, and removes it after
// the script.
func cgroup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: cgroup")
	}
	folder, err := makeCgroup()
	ts.Check(err)
	ts.Setenv("CGROUP", folder)
	ts.Defer(func() {
		// Who was killed in it takes a moment to leave.
		var err error
		processtest.EventuallyGone(func() []int {
			if err = os.Remove(folder); errors.Is(err, syscall.EBUSY) {
				return []int{0}
			}
			return nil
		})
		if err != nil {
			ts.Logf("%v", err)
		}
	})
}
