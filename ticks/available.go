package ticks

import "os"

// Availability says whether a kind of source can count on this machine.
type Availability struct {
	// Kind is the source in a word or two: "instructions", "functions".
	Kind string
	// Err is why it cannot; nil when it can.
	Err error
}

// Available tries the kinds of sources that a program need not know of, then the
// page. What else a program declares can be read anywhere.
func Available() []Availability {
	return []Availability{
		{"instructions", Instructions{}.try()},
		{"functions", tryUprobe()},
		{"input and output", tryRun(IO{BytesRead}, os.Getpid())},
		{"a page", tryRun(Page{}, os.Getpid())},
	}
}

// tryRun opens and closes a source.
func tryRun(s Source, pid int) error {
	run, err := s.Prepare()
	if err != nil {
		return err
	}
	defer func() { _ = run.Close() }()
	counter, err := run.Open(pid)
	if err != nil {
		return err
	}
	return counter.Close()
}
