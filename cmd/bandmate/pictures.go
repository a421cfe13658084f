package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/report"
)

// picture can be written to a file.
type picture interface {
	Picture() *drawing.Picture
	WriteCSV(w io.Writer) error
}

// pictureFlags name files for the picture that a command shows.
type pictureFlags struct {
	svg, png, csv string
}

func (f *pictureFlags) add(flags *pflag.FlagSet, what string) {
	flags.StringVar(&f.svg, "svg", "", "draw "+what+" into this SVG file (- for standard output)")
	flags.StringVar(&f.png, "png", "", "draw "+what+" into this PNG file (- for standard output)")
	flags.StringVar(&f.csv, "csv", "", "write the numbers of "+what+" into this CSV file (- for standard output)")
}

// wanted are the files by the name of their flag, in a fixed order.
func (f pictureFlags) wanted() (flags, files []string) {
	for _, each := range [][2]string{{"svg", f.svg}, {"png", f.png}, {"csv", f.csv}} {
		if each[1] != "" {
			flags, files = append(flags, each[0]), append(files, each[1])
		}
	}
	return flags, files
}

// any reports whether a picture is wanted at all.
func (f pictureFlags) any() bool { return f.svg != "" || f.png != "" || f.csv != "" }

// toStdout reports whether a picture takes the place of the command's result.
func (f pictureFlags) toStdout() bool {
	return f.svg == standardInput || f.png == standardInput || f.csv == standardInput
}

// check refuses what could not be written, before anything is measured.
func (f pictureFlags) check() error {
	flags, files := f.wanted()
	stdout := 0
	for i, file := range files {
		if file == standardInput {
			stdout++
			continue
		}
		if err := checkOutput(flags[i], file); err != nil {
			return err
		}
	}
	if stdout > 1 {
		return usagef("--svg, --png and --csv: want one of them on standard output")
	}
	return nil
}

// draw writes the wanted files.
func (a *app) draw(p picture, f pictureFlags) error {
	write := map[string]func(io.Writer) error{
		"svg": func(w io.Writer) error { return p.Picture().WriteSVG(w) },
		"png": func(w io.Writer) error { return p.Picture().WritePNG(w) },
		"csv": p.WriteCSV,
	}
	flags, files := f.wanted()
	for i, flag := range flags {
		var b bytes.Buffer
		if err := write[flag](&b); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		if files[i] == standardInput {
			if err := a.write(b.Bytes()); err != nil {
				return err
			}
			continue
		}
		if err := writeOutput(flag, files[i], b.Bytes()); err != nil {
			return err
		}
		a.say("%s: %s\n", report.SanitizeText(files[i]), report.Bytes(int64(b.Len())))
	}
	return nil
}

// printDrawn writes the wanted files, and the result unless a picture takes its
// place on standard output.
func (a *app) printDrawn(v any, p picture, f pictureFlags, text func(io.Writer) error) error {
	if err := a.draw(p, f); err != nil || f.toStdout() {
		return err
	}
	return a.print(v, text)
}
