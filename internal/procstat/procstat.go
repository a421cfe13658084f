// Package procstat reads what the kernel says of a process or a thread in /proc/PID/stat
// (proc_pid_stat(5)).
package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Stat is a line of /proc/PID/stat, as far as Bandmate uses it.
type Stat struct {
	PID  int
	Name string
	// State is R where it runs or waits for a CPU, S and D where it sleeps, T where it is
	// stopped, Z and X where it has ended.
	State                                        byte
	Parent, Group, Session, Terminal, Foreground int
	// Flags are those of the kernel, PF_….
	Flags uint64
	// WaitedFor is the CPU time of the children that it has waited for, and of those that
	// they had waited for, in clock ticks.
	WaitedFor int64
	Threads   int
	// Start is in clock ticks since boot.
	Start uint64
}

// Ended reports a process of which only the number is left. Threads of it may still run if it
// is the first thread that ended.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// AllEnded reports a process of which no thread is left.
func (s Stat) AllEnded() bool { return s.Ended() && s.Threads <= 1 }

// Err is wrapped by every fault of a line.
var Err = errors.New("not the state of a process")

// Parse reads a line:
//
//	1234 (some (odd) name) S 1 1234 1234 0 -1 4194560 …
//
// The name may hold blanks and parentheses; it ends at the last ")". The error wraps Err.
func Parse(line []byte) (Stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("%w: %.40q has no name in parentheses", Err, line)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	if err != nil || pid < 1 {
		return Stat{}, fmt.Errorf("%w: %.40q has no number in front", Err, line)
	}
	s := Stat{PID: pid, Name: string(line[open+1 : end])}
	// Numbers of the fields are those of the manual page; the third comes first.
	field := 3
	for word := range bytes.FieldsSeq(line[end+1:]) {
		if err := s.set(field, word); err != nil {
			return Stat{}, fmt.Errorf("%w: field %d of %.40q: %w", Err, field, line, err)
		}
		if field == lastField {
			return s, nil
		}
		field++
	}
	return Stat{}, fmt.Errorf("%w: %.40q has too few fields", Err, line)
}

// lastField is the last field that is read.
const lastField = 22

func (s *Stat) set(field int, word []byte) error {
	var number *int
	switch field {
	case 3:
		s.State = word[0]
		return nil
	case 4:
		number = &s.Parent
	case 5:
		number = &s.Group
	case 6:
		number = &s.Session
	case 7:
		number = &s.Terminal
	case 8:
		number = &s.Foreground
	case 16, 17: // cutime, cstime
		n, err := strconv.ParseInt(string(word), 10, 64)
		s.WaitedFor += n
		return err
	case 20:
		number = &s.Threads
	case 9, lastField:
		n, err := strconv.ParseUint(string(word), 10, 64)
		if field == 9 {
			s.Flags = n
		} else {
			s.Start = n
		}
		return err
	default:
		return nil
	}
	n, err := strconv.Atoi(string(word))
	*number = n
	return err
}

// State returns the state in the beginning of a line, without an allocation; 0 where it is cut
// off before.
func State(line []byte) byte {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 || end+2 >= len(line) {
		return 0
	}
	return line[end+2]
}
