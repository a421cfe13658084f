package main

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	cellWidth  = 8.0
	cellHeight = 17.0
	margin     = 14.0
)

// pen is how a cell is drawn.
type pen struct {
	bold, faint      bool
	color, underlaid string
}

const (
	foreground = "#e6edf3"
	background = "#0d1117"
)

// basic are the colors 30 to 37 and 90 to 97 of ECMA-48.
var basic = []string{
	"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
}

var sequence = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// draw returns the picture of a screen. Dots and lines are drawn, not written:
// fonts differ in these characters.
func draw(screen string) []byte {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	columns := 80
	var body strings.Builder
	var p pen
	for row, line := range lines {
		column := 0
		y := margin + cellHeight*float64(row)
		for line != "" {
			if at := sequence.FindStringSubmatchIndex(line); at != nil && at[0] == 0 {
				p = p.apply(line[at[2]:at[3]])
				line = line[at[1]:]
				continue
			}
			end := len(line)
			if at := sequence.FindStringIndex(line); at != nil {
				end = at[0]
			}
			drawRun(&body, p, line[:end], column, y)
			column += utf8.RuneCountInString(line[:end])
			line = line[end:]
		}
		columns = max(columns, column)
	}
	width, height := 2*margin+cellWidth*float64(columns), 2*margin+cellHeight*float64(len(lines))
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %[1]g %[2]g\" width=\"%[1]g\" height=\"%[2]g\" role=\"img\">\n"+
		"<title>%[3]s</title>\n<style>text{font:13.3px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}</style>\n"+
		"<rect width=\"%[1]g\" height=\"%[2]g\" rx=\"8\" fill=\"%[4]s\"/>\n%[5]s</svg>\n",
		width, height, html.EscapeString(sequence.ReplaceAllString(lines[0], "")), background, body.String())
}

// apply changes the pen by the codes of a sequence.
func (p pen) apply(codes string) pen {
	list := strings.Split(codes, ";")
	for i := 0; i < len(list); i++ {
		code, err := strconv.Atoi(list[i])
		if err != nil {
			code = 0
		}
		switch {
		case code == 0:
			p = pen{}
		case code == 1:
			p.bold = true
		case code == 2:
			p.faint = true
		case code >= 30 && code <= 37:
			p.color = basic[code-30]
		case code >= 90 && code <= 97:
			p.color = basic[code-82]
		case code == 39:
			p.color = ""
		case code >= 40 && code <= 47:
			p.underlaid = basic[code-40]
		case code == 49:
			p.underlaid = ""
		case (code == 38 || code == 48) && i+2 < len(list) && list[i+1] == "5":
			if n, err := strconv.Atoi(list[i+2]); err == nil && code == 38 {
				p.color = indexed(n)
			} else if err == nil {
				p.underlaid = indexed(n)
			}
			i += 2
		}
	}
	return p
}

// indexed is one of the 256 colors of xterm.
func indexed(n int) string {
	switch {
	case n < 16:
		return basic[max(n, 0)]
	case n < 232:
		n -= 16
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	}
	gray := 8 + 10*(min(n, 255)-232)
	return fmt.Sprintf("#%02x%02x%02x", gray, gray, gray)
}

// drawRun draws characters of one pen.
func drawRun(b *strings.Builder, p pen, text string, column int, y float64) {
	color := p.color
	if color == "" {
		color = foreground
	}
	weight, opacity := "", ""
	if p.bold {
		weight = ` font-weight="600"`
	}
	if p.faint {
		opacity = ` opacity=".65"`
	}
	x := func(i int) float64 { return margin + cellWidth*float64(column+i) }
	runes := []rune(text)
	if p.underlaid != "" {
		fmt.Fprintf(b, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n", x(0), y, cellWidth*float64(len(runes)), cellHeight, p.underlaid)
	}
	begin := -1
	flush := func(end int) {
		if begin >= 0 && strings.TrimSpace(string(runes[begin:end])) != "" {
			fmt.Fprintf(b, "<text x=\"%g\" y=\"%g\" textLength=\"%g\" lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\"%s%s>%s</text>\n",
				x(begin), y+13, cellWidth*float64(end-begin), color, weight, opacity, html.EscapeString(string(runes[begin:end])))
		}
		begin = -1
	}
	for i, r := range runes {
		if drawn := shape(r, x(i), y, color); drawn != "" {
			flush(i)
			b.WriteString(drawn)
			continue
		}
		if r == ' ' && (begin < 0 || i+1 < len(runes) && runes[i+1] == ' ') {
			flush(i)
			continue
		}
		if begin < 0 {
			begin = i
		}
	}
	flush(len(runes))
}

// strokes are the ends of the lines from the middle of a cell: left, right, up,
// down.
var strokes = map[rune]string{
	'─': "lr", '│': "ud", '┌': "rd", '┐': "ld", '└': "ru", '┘': "lu",
	'├': "rud", '┤': "lud", '┬': "lrd", '┴': "lru", '┼': "lrud",
}

// shape draws a character of lines or dots, and nothing for any other.
func shape(r rune, x, y float64, color string) string {
	if ends, ok := strokes[r]; ok {
		const half = cellWidth / 2
		var d strings.Builder
		for _, end := range ends {
			to := map[rune][2]float64{'l': {x, y + 8.5}, 'r': {x + cellWidth, y + 8.5}, 'u': {x + half, y}, 'd': {x + half, y + cellHeight}}[end]
			fmt.Fprintf(&d, "M%g %gL%g %g", x+half, y+8.5, to[0], to[1])
		}
		return fmt.Sprintf("<path d=\"%s\" stroke=\"%s\"/>\n", d.String(), color)
	}
	if r < '\u2800' || r > '\u28ff' {
		return ""
	}
	// The dots of Braille patterns, by bit: column and row.
	places := [8][2]float64{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}
	var d strings.Builder
	for bit, place := range places {
		if int(r-'\u2800')>>bit&1 == 1 {
			fmt.Fprintf(&d, "M%g %gh0", x+2+4*place[0], y+2.1+4.25*place[1])
		}
	}
	return fmt.Sprintf("<path d=\"%s\" stroke=\"%s\" stroke-width=\"2.6\" stroke-linecap=\"round\"/>\n", d.String(), color)
}
