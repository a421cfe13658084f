package measure

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
)

// newMemory allocates memory for messages on a NUMA node and touches all of it.
func newMemory(size int64, node int) (*memory.Buffer, error) {
	b, err := memory.New(size, &node)
	switch {
	case errors.Is(err, unix.ENOMEM):
		err = fmt.Errorf("for messages: %w: ask for smaller ones with --message-size", err)
	case errors.Is(err, memory.ErrNode):
		err = fmt.Errorf("for messages: %w: choose nodes with memory that this process may use, with --nodes", err)
	}
	if err != nil {
		return nil, err
	}
	b.Touch()
	return b, nil
}
