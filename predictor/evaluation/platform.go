package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"bandmate.dev/bandmate/predictor/memory"
)

// Platform is what the topology of a machine says.
type Platform struct {
	// Link is how co-runners reach the memory.
	Link memory.Link `json:"link"`
	// SharedCache is a cache that all applications share; nil without one.
	SharedCache *SharedCache `json:"sharedCache"`
}

// SharedCache is the size of a cache.
type SharedCache struct {
	Bytes int64 `json:"bytes"`
	Ways  int   `json:"ways"`
}

// readPlatform reads platform.json, which need not be there.
func (d *Dataset) readPlatform(fsys fs.FS) error {
	text, err := fs.ReadFile(fsys, platformFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data set: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s: empty: write it again, or remove it", platformFile)
	}
	if err := json.Unmarshal(text, &d.Platform); err != nil {
		return fmt.Errorf("%s: %w", platformFile, err)
	}
	if d.Platform.Link, err = memory.ParseLink(string(d.Platform.Link)); err != nil {
		return fmt.Errorf("%s: %w", platformFile, err)
	}
	if c := d.Platform.SharedCache; c != nil && (c.Bytes <= 0 || c.Ways <= 0) {
		return fmt.Errorf("%s: sharedCache: want bytes and ways above 0", platformFile)
	}
	return nil
}
