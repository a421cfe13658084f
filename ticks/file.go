package ticks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"golang.org/x/sys/unix"
)

// File counts by a file that the program writes: the count is the last number in
// its last complete lines, or the whole content if it is a single number. The file may
// appear later, be rewritten and be replaced. What it holds before the program
// starts does not count.
type File struct{ Path string }

var _ Source = File{}

// Name returns "file PATH".
func (s File) Name() string { return "file " + s.Path }

// tail is how much of the end of a file is read.
const tail = 4096

// Prepare remembers what the file is now, which may be from an earlier run.
func (s File) Prepare() (*Run, error) {
	before, err := stateOf(s.Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", s.Name(), ErrUnavailable, err)
	}
	earlier, err := endOf(s.Path, before)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", s.Name(), ErrUnavailable, err)
	}
	return &Run{
		Open: func(pid int) (Counter, error) {
			return newCounter(s.Name(), pid, func() (reader, error) {
				return &fileReader{path: s.Path, before: before, earlier: earlier}, nil
			})
		},
		Close: func() error { return nil },
	}, nil
}

// fileState tells one content of a file from another.
type fileState struct {
	exists         bool
	device, inode  uint64
	size, modified int64
}

// stateOf returns the state of a file that may not exist.
func stateOf(path string) (fileState, error) {
	var status unix.Stat_t
	err := unix.Stat(path, &status)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fileState{}, nil
	case err != nil:
		return fileState{}, fmt.Errorf("%s: %w", path, err)
	case status.Mode&unix.S_IFMT != unix.S_IFREG:
		return fileState{}, fmt.Errorf("%s is not a regular file", path)
	}
	return fileState{
		exists: true, device: uint64(status.Dev), inode: status.Ino, //nolint:unconvert // Dev has other types elsewhere
		size: status.Size, modified: status.Mtim.Nano(),
	}, nil
}

// content is the end of what a file held, which stays there while the file is appended to.
type content struct {
	end  []byte
	size int64
}

// known is how much of the end of a file tells whether its content is still there.
const known = 256

// endOf returns the end of a file; nothing where it is not there.
func endOf(path string, state fileState) (content, error) {
	c := content{end: make([]byte, min(state.size, known)), size: state.size}
	if state.size == 0 {
		return c, nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return c, err
	}
	_, err = file.ReadAt(c.end, c.size-int64(len(c.end)))
	return c, errors.Join(err, file.Close())
}

// in reports whether a file begins with the content, as far as its end tells.
func (c *content) in(file *os.File) (bool, error) {
	var data [known]byte
	now := data[:len(c.end)]
	n, err := file.ReadAt(now, c.size-int64(len(c.end)))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return n == len(now) && bytes.Equal(now, c.end), nil
}

// fileReader reads the file from when it is not what it was before. Later changes
// cannot be told from the file's times, which are coarse.
type fileReader struct {
	path   string
	before fileState
	// earlier is what the file holds of earlier runs, which the program appends to; empty
	// where it does not.
	earlier content
	file    *os.File
	last    float64
	data    [tail]byte
}

// read keeps the last count while the file is away, or is being rewritten and
// holds none.
func (r *fileReader) read() (float64, error) {
	now, err := stateOf(r.path)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if !now.exists || r.file == nil && now == r.before {
		return r.last, nil
	}
	if r.file == nil || now.device != r.before.device || now.inode != r.before.inode {
		if now.device != r.before.device || now.inode != r.before.inode {
			r.earlier = content{}
		}
		if err := r.reopen(); err != nil {
			return 0, err
		}
		if r.file == nil {
			return r.last, nil
		}
	}
	text, isWhole, err := r.text(now.size)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if count, ok := lastNumber(text, isWhole); ok {
		r.last = count
	}
	r.before = now
	return r.last, nil
}

// text returns the end of what the program has written to the file, which is so long, and
// whether that is all the file holds. After earlier content it begins with the last byte of
// that: the newline before a line, or else a part of one.
func (r *fileReader) text(size int64) (text []byte, isWhole bool, err error) {
	if r.earlier.size > 0 {
		isThere, err := r.earlier.in(r.file)
		if err != nil {
			return nil, false, err
		}
		if !isThere {
			r.earlier = content{}
		}
	}
	from := max(0, r.earlier.size-1, size-tail)
	n, err := r.file.ReadAt(r.data[:], from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return r.data[:n], from == 0 && r.earlier.size == 0, nil
}

// reopen opens the file, unless it is gone already.
func (r *fileReader) reopen() error {
	if err := r.close(); err != nil {
		return err
	}
	file, err := os.OpenFile(r.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	r.file = file
	return nil
}

func (r *fileReader) close() error {
	if r.file == nil {
		return nil
	}
	defer func() { r.file = nil }()
	return r.file.Close()
}

var number = regexp.MustCompile(`[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`)

// lastNumber returns the last number of complete lines; of text without a newline
// only when it is the whole of the file and one number.
func lastNumber(text []byte, isWhole bool) (n float64, ok bool) {
	end := bytes.LastIndexByte(text, '\n')
	if end < 0 {
		if !isWhole {
			return 0, false
		}
		return finite(bytes.TrimSpace(text))
	}
	for complete := text[:end]; len(complete) > 0; {
		begin := bytes.LastIndexByte(complete, '\n') + 1
		if begin == 0 && !isWhole {
			return 0, false // it may begin within a number
		}
		if found := number.FindAll(complete[begin:], -1); len(found) > 0 {
			return finite(found[len(found)-1])
		}
		complete = complete[:max(begin-1, 0)]
	}
	return 0, false
}
