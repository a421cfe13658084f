package measure

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/requires"
)

// A fault of the memory names the flag that mends it.
func TestMemoryForMessagesRefused(t *testing.T) {
	if _, err := newMemory(1<<48, 0); err == nil || !strings.Contains(err.Error(), "--message-size") {
		t.Errorf("too large: %v", err)
	}
	_, err := newMemory(MinMessageBytes, 1000)
	if errors.Is(err, fs.ErrPermission) {
		requires.Unmet(t, "memory cannot be bound here: %v", err)
	}
	if !errors.Is(err, memory.ErrNode) || !strings.Contains(err.Error(), "--nodes") {
		t.Errorf("no such node: %v", err)
	}
}
