package namespaces

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/reexec"
)

// role makes a process the holder of a cluster; its argument is Options.
const role reexec.Role = "namespaces"

// controlDescriptor is the child's end of the socket for requests.
const controlDescriptor = 3

// maxMessage bounds a request or an answer.
const maxMessage = 4096

// request asks for a connection.
type request struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// response has a fault, or comes with the two files of a connection.
type response struct {
	Fault string `json:"fault,omitempty"`
	// NotPermitted is true if the fault wraps ErrNotPermitted.
	NotPermitted bool `json:"notPermitted,omitempty"`
}

// RunIfChild has to be among the first statements of main, and of TestMain, in
// every program that calls Open. In a process that Open made it holds the cluster
// and does not return; in every other process it does nothing.
func RunIfChild() { role.Run(runChild) }

// runChild answers requests until the parent closes its end, which the kernel
// does for one that dies. It returns the exit status.
func runChild(config string) int {
	var o Options
	if err := json.Unmarshal([]byte(config), &o); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v: this variable is set by bandmate itself: unset it\n", role.Variable(), err)
		return 1
	}
	unix.CloseOnExec(controlDescriptor)
	s, err := build(o)
	if tell(err) != nil || err != nil {
		return 1
	}
	for text := make([]byte, maxMessage); ; {
		n, err := unix.Read(controlDescriptor, text)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return 0
		}
		var r request
		if err := json.Unmarshal(text[:n], &r); err != nil {
			return 1
		}
		sender, receiver, err := s.connect(r.From, r.To)
		if err != nil {
			err = tell(err)
		} else {
			err = tell(nil, sender, receiver)
		}
		if err != nil {
			return 1
		}
	}
}

// tell answers with a fault or with files, which it closes.
func tell(fault error, files ...int) error {
	var r response
	if fault != nil {
		r = response{fault.Error(), errors.Is(fault, ErrNotPermitted)}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	err = unix.Sendmsg(controlDescriptor, text, rights, nil, 0)
	for _, f := range files {
		err = errors.Join(err, unix.Close(f))
	}
	return err
}

// receivedFiles returns the files that came with a message.
func receivedFiles(attached []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(attached)
	if err != nil {
		return nil, fmt.Errorf("files of the network namespaces: %w", err)
	}
	var files []*os.File
	for _, m := range messages {
		descriptors, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("files of the network namespaces: %w", err), closeFiles(files))
		}
		for _, d := range descriptors {
			unix.CloseOnExec(d)
			files = append(files, os.NewFile(uintptr(d), "connection between network namespaces"))
		}
	}
	return files, nil
}

func closeFiles(files []*os.File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
