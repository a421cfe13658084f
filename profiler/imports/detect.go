package imports

import (
	"bytes"
	"fmt"
	"strings"
)

// detect tells the format from the start of a file.
func detect(head []byte) (Format, error) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte("BZh")),
		bytes.HasPrefix(head, []byte{0xfd, '7', 'z'}), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "", fmt.Errorf("%w: the file is compressed: unpack it first", ErrFormat)
	case bytes.HasPrefix(head, []byte("PERFILE2")):
		return "", fmt.Errorf("%w: this is perf.data: convert it with perf stat report -x, -i FILE", ErrFormat)
	case len(bytes.TrimSpace(head)) == 0:
		return "", fmt.Errorf("%w: the file is empty: nothing was measured, or its output went elsewhere (perf writes to standard error; give it -o FILE)", ErrFormat)
	}
	text := strings.TrimPrefix(string(head), byteOrderMark)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case isLikwidLine(line):
			return Likwid, nil
		case isPCMHeader(line):
			return PCM, nil
		case strings.HasPrefix(line, "Performance counter stats for"):
			return "", fmt.Errorf("%w: this is perf's table for people: repeat the measurement with perf stat -j -o FILE (or -x,)", ErrFormat)
		case isPerfComment(line):
		case strings.HasPrefix(line, "{"):
			return PerfJSON, nil
		default:
			if fault := decimalComma(line); fault != nil {
				return "", fault
			}
			if findSeparator(line) != "" {
				return PerfCSV, nil
			}
		}
	}
	return "", fmt.Errorf("%w: neither perf stat -x or -j, nor pcm-memory -csv, nor likwid-perfctr -O: "+
		"if it is one of them, name it with --format (%s)", ErrFormat, formatNames())
}
