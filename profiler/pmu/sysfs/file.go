package sysfs

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// maxBytes is the size of a page, above which no sysfs attribute grows.
const maxBytes = 4096

// attribute reads a file of one value, without the blanks around it.
func attribute(fsys fs.FS, name string) (string, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxBytes {
		return "", fmt.Errorf("%s: %w: longer than %d bytes", name, ErrMalformed, maxBytes)
	}
	return strings.TrimSpace(string(data)), nil
}
