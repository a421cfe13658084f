package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ports are the serial ports behind which hack/pmu-vm.sh listens. The first one
// of the machine is the kernel's console.
type ports struct{ stdout, stderr, status *os.File }

func openPorts() (ports, error) {
	var p ports
	var faults []error
	for path, port := range map[string]**os.File{"/dev/ttyS1": &p.stdout, "/dev/ttyS2": &p.stderr, "/dev/ttyS3": &p.status} {
		var err error
		*port, err = openPort(path)
		faults = append(faults, err)
	}
	return p, errors.Join(faults...)
}

// openPort opens a serial port that passes bytes on as they are.
func openPort(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	mode, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	mode.Oflag &^= unix.OPOST
	mode.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	mode.Cflag = mode.Cflag&^unix.CBAUD | unix.B115200 | unix.CLOCAL
	if err := unix.IoctlSetTermios(int(file.Fd()), unix.TCSETS, mode); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// finish reports the exit code once everything printed has left the machine.
func (p ports) finish(status int) error {
	faults := []error{drain(p.stdout), drain(p.stderr)}
	_, err := fmt.Fprint(p.status, status)
	return errors.Join(append(faults, err, drain(p.status))...)
}

func drain(port *os.File) error {
	// An argument other than 0 waits and sends no break: tcdrain(3).
	if err := unix.IoctlSetInt(int(port.Fd()), unix.TCSBRK, 1); err != nil {
		return fmt.Errorf("drain %s: %w", port.Name(), err)
	}
	return nil
}
