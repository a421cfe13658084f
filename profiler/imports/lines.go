package imports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	byteOrderMark = "\ufeff"
	// maxLine bounds a line in bytes: pcm-memory with every channel of eight
	// sockets stays below 16 KiB.
	maxLine = 1 << 20
	// maxShown is how much of a foreign text a message repeats.
	maxShown = 60
)

// lines reads a text line by line and says where it is.
type lines struct {
	name   string
	reader *bufio.Reader
	number int
	// whole is false for a last line without its end.
	whole bool
}

func newLines(name string, r *bufio.Reader) *lines { return &lines{name: name, reader: r} }

// next returns the next line without its end; io.EOF after the last.
func (l *lines) next() (string, error) {
	var text []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			l.number++
			return "", l.errorf("longer than %d bytes: this is no text of lines", maxLine)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return "", fmt.Errorf("%s: reading: %w", l.name, err)
		case err != nil && len(text) == 0:
			return "", io.EOF
		}
		l.whole = err == nil
		break
	}
	l.number++
	line := strings.TrimRight(string(text), "\r\n")
	if l.number == 1 {
		line = strings.TrimPrefix(line, byteOrderMark)
	}
	return line, nil
}

// errorf is an error at the current line.
func (l *lines) errorf(format string, args ...any) error {
	return l.errorAt(l.number, format, args...)
}

func (l *lines) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", l.name, line, fmt.Errorf(format, args...))
}

// show quotes foreign text for a message: printable and short.
func show(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return strconv.QuoteToASCII(text)
}

// number reads a decimal number, with a comma for the point as some locales
// print it. Names of numbers (inf, nan), hexadecimal and digit groups are none.
func number(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	for _, r := range text {
		if (r < '0' || r > '9') && !strings.ContainsRune(".,eE+-", r) {
			return 0, false
		}
	}
	if before, after, found := strings.Cut(text, ","); found {
		text = before + "." + after
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
