package doctor

import (
	"io"
	"io/fs"
	"strings"
)

// maxFileBytes is far above the files read here.
const maxFileBytes = 1 << 20

// read returns the text of a file, without the blanks around it.
func read(fsys fs.FS, name string) (string, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	return strings.TrimSpace(string(data)), err
}
