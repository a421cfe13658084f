// Command page takes pictures of the report page on the profiles of
// docs/example, in light and dark, with a headless Chromium. They differ with
// the version of Chromium and its fonts, so they are made by hand, by
// hack/pictures.sh, and not compared.
//
//	page -root ../../.. -bandmate PROGRAM -chromium PROGRAM
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// size is that of the window.
const size = "1000,1130"

func main() {
	root := flag.String("root", ".", "root of the repository")
	bandmate := flag.String("bandmate", "bandmate", "the program that makes the report")
	chromium := flag.String("chromium", "chromium", "the browser")
	flag.Parse()
	if err := run(*root, *bandmate, *chromium); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(root, bandmate, chromium string) error {
	folder, err := os.MkdirTemp("", "page")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	page := filepath.Join(folder, "report.html")
	if err := start(bandmate, "report", "--quiet", "--output", page, "--store", filepath.Join(root, "docs", "example", "store")); err != nil {
		return err
	}
	// The values are Chromium's enumeration of color schemes.
	for scheme, name := range []string{"report-dark.png", "report-light.png"} {
		taken := filepath.Join(folder, name)
		if err := start(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size="+size,
			"--user-data-dir="+filepath.Join(folder, "browser"), fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), "--screenshot="+taken, "file://"+page); err != nil {
			return err
		}
		small, err := shrink(taken)
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(root, "docs", "pictures", name), small, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func start(program string, arguments ...string) error {
	cmd := exec.Command(program, arguments...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return nil
}

// shrink encodes a picture with its 96 most frequent colors; the others, all of
// them edges of letters, take the nearest.
func shrink(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	full, err := png.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	bounds := full.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		r, g, b, _ := full.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colors[:min(96, len(colors))] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range colors {
		nearest[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}
