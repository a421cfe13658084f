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

// lines reads a text line by line.
type lines struct {
	name   string
	reader *bufio.Reader
	number int
	// at is the line that an error is about.
	at int
	// whole is false for a last line without its end.
	whole bool
}

// next returns the next line without its end; io.EOF after the last.
func (l *lines) next() (string, error) {
	var text []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			l.at = l.number + 1
			return "", l.locate(fmt.Errorf("longer than %d bytes: this is no text of lines", maxLine))
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

// locate adds file and line to an error.
func (l *lines) locate(err error) error {
	return fmt.Errorf("%s:%d: %w", l.name, max(l.at, 1), err)
}

// width checks how many cells a line has.
func (l *lines) width(cells, want int) error {
	switch {
	case cells == want:
		return nil
	case !l.whole:
		return errors.New("the last line is cut off: the file is truncated; remove it")
	}
	return fmt.Errorf("%d columns, want %d as in the header: the line is damaged, or was written with decimal commas (measure again with LC_ALL=C)", cells, want)
}

// show quotes foreign text for a message: printable and short.
func show(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return strconv.QuoteToASCII(text)
}

// number reads a decimal number, with a comma for the point as some locales
// print it. Names of numbers (inf, nan), hexadecimal and digit groups are refused.
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

// absence recognizes what the tools print where there is no value, and says why
// there is none.
func absence(text string) (why string, absent bool) {
	text = strings.TrimSpace(text)
	switch strings.TrimLeft(strings.ToLower(text), "-") {
	case "<not supported>", "<not counted>":
		return strings.Trim(text, "<>"), true
	case "", "(null)", "n/a", "nan", "inf":
		return "no value", true
	}
	return "", false
}
