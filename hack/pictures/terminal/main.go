// Command terminal draws what commands of bandmate show in a terminal of 80
// columns with colors, on the profiles of docs/example.
//
//	terminal -root ../../.. -output NAME.svg ARGUMENT...
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

//go:generate go run . -root ../../.. -output show.svg profiles show radix-sort
//go:generate go run . -root ../../.. -output matrix.svg matrix numpy pointer-chase radix-sort sort sqlite3 triad xz zstd

func main() {
	root := flag.String("root", ".", "root of the repository")
	output := flag.String("output", "", "name of the picture in docs/pictures")
	flag.Parse()
	if err := run(*root, *output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func run(root, output string, arguments []string) error {
	if output == "" || len(arguments) == 0 {
		return errors.New("want -output NAME.svg and a command line of bandmate")
	}
	folder, err := os.MkdirTemp("", "terminal")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program := filepath.Join(folder, "bandmate")
	build := exec.Command("go", "build", "-o", program, "./cmd/bandmate")
	build.Dir = root
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	printed, err := inTerminal(exec.Command(program, append(arguments, "--store", filepath.Join(root, "docs", "example", "store"))...))
	if err != nil {
		return err
	}
	screen := "\x1b[1m$ bandmate " + strings.Join(arguments, " ") + "\x1b[0m\n" + printed
	return renameio.WriteFile(filepath.Join(root, "docs", "pictures", output), draw(screen), 0o644)
}

// inTerminal runs a command whose standard output is a terminal, and returns
// what it wrote there. Warnings go nowhere.
func inTerminal(cmd *exec.Cmd) (string, error) {
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer near.Close()
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return "", err
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer far.Close()
	if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 80}); err != nil {
		return "", err
	}
	cmd.Stdout = far
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "COLORTERM=")
	var out bytes.Buffer
	drained := make(chan error)
	go func() {
		_, err := io.Copy(&out, near)
		drained <- err
	}()
	err = cmd.Run()
	_ = far.Close()
	// The end of a terminal is an input/output error.
	if readErr := <-drained; !errors.Is(readErr, syscall.EIO) && readErr != nil {
		err = errors.Join(err, readErr)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), err
}
