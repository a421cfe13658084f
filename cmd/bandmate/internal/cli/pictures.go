package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/report"
)

// Picture can be written to a file.
type Picture interface {
	// Picture returns what SVG and PNG files show.
	Picture() *drawing.Picture
	// WriteCSV writes the numbers behind the picture.
	WriteCSV(w io.Writer) error
}

// PictureFlags name files for the picture that a command shows.
type PictureFlags struct {
	SVG, PNG, csv string
}

// Add defines the flags; what names the picture in their help.
func (f *PictureFlags) Add(flags *pflag.FlagSet, what string) {
	flags.StringVar(&f.SVG, "svg", "", "draw "+what+" into this SVG file (- for standard output)")
	flags.StringVar(&f.PNG, "png", "", "draw "+what+" into this PNG file (- for standard output)")
	flags.StringVar(&f.csv, "csv", "", "write the numbers of "+what+" into this CSV file (- for standard output)")
}

// Wanted are the files by the name of their flag, in a fixed order.
func (f PictureFlags) Wanted() (flags, files []string) {
	for _, each := range [][2]string{{"svg", f.SVG}, {"png", f.PNG}, {"csv", f.csv}} {
		if each[1] != "" {
			flags, files = append(flags, each[0]), append(files, each[1])
		}
	}
	return flags, files
}

// Any reports whether a picture is wanted at all.
func (f PictureFlags) Any() bool { return f.SVG != "" || f.PNG != "" || f.csv != "" }

// ToStdout reports whether a picture takes the place of the command's result.
func (f PictureFlags) ToStdout() bool {
	return f.SVG == StandardInput || f.PNG == StandardInput || f.csv == StandardInput
}

// Check refuses what could not be written, before anything is measured.
func (f PictureFlags) Check() error {
	flags, files := f.Wanted()
	stdout := 0
	for i, file := range files {
		if file == StandardInput {
			stdout++
			continue
		}
		if err := CheckFile(flags[i], file); err != nil {
			return err
		}
	}
	if stdout > 1 {
		return Usagef("--svg, --png and --csv: want one of them on standard output")
	}
	return nil
}

// Draw writes the wanted files.
func (a *App) Draw(p Picture, f PictureFlags) error {
	write := map[string]func(io.Writer) error{
		"svg": func(w io.Writer) error { return p.Picture().WriteSVG(w) },
		"png": func(w io.Writer) error { return p.Picture().WritePNG(w) },
		"csv": p.WriteCSV,
	}
	flags, files := f.Wanted()
	for i, flag := range flags {
		var b bytes.Buffer
		if err := write[flag](&b); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		if files[i] == StandardInput {
			if err := a.WriteBytes(b.Bytes()); err != nil {
				return err
			}
			continue
		}
		if err := WriteFile(flag, files[i], b.Bytes()); err != nil {
			return err
		}
		a.Notef("%s: %s\n", report.SanitizeText(files[i]), report.Bytes(int64(b.Len())))
	}
	return nil
}

// PrintDrawn writes the wanted files, and the result unless a picture takes its place
// on standard output.
func (a *App) PrintDrawn(v any, p Picture, f PictureFlags, text func(io.Writer) error) error {
	if err := a.Draw(p, f); err != nil || f.ToStdout() {
		return err
	}
	return a.Print(v, text)
}

// PrintDrawnRows is PrintDrawn for a command that has CSV, too.
func (a *App) PrintDrawnRows(v any, p Picture, f PictureFlags, csv, text func(io.Writer) error) error {
	if a.Format == FormatCSV && !f.ToStdout() {
		return errors.Join(a.Draw(p, f), csv(a.Stdout))
	}
	return a.PrintDrawn(v, p, f, text)
}
