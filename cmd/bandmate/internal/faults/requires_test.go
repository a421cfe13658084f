package faults_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/requires"
)

// nobody is the user without rights that programs are run as where the test
// is root.
const nobody = 65534

// unprivileged has a program run without root's rights.
func unprivileged(p *processtest.Program) *processtest.Program {
	if os.Geteuid() == 0 {
		p.Cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		p.Cmd.Dir = "/"
	}
	return p
}

// openFolder is a folder that every user may enter and, unless closed, write
// to. It holds the program, as bandmate.
func openFolder(t *testing.T) (folder, program string) {
	t.Helper()
	// Not t.TempDir: other users may not enter its parents.
	folder, err := os.MkdirTemp("", "bandmate-open") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	installed, err := exec.LookPath("bandmate")
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(folder, "bandmate")
	// A name is enough, and quick; across file systems it takes a copy.
	if os.Link(installed, program) != nil {
		binary, err := os.ReadFile(installed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, binary, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder, program
}

// onOneCPU starts a program that may use only one of this process's CPUs.
func onOneCPU(p *processtest.Program) *processtest.Program {
	p.T.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		p.T.Fatal(err)
	}
	first := 0
	for !before.IsSet(first) {
		first++
	}
	one.Set(first)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		p.T.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			p.T.Error(err)
		}
	}()
	return p.Start()
}

// fullDisk is a folder on a file system of its own with that many bytes.
func fullDisk(t *testing.T, bytes string) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("bandmate-test", folder, "tmpfs", 0, "size="+bytes); err != nil {
		requires.Unmet(t, "needs the right to mount (root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}
