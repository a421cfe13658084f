package imports

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func fuzz(f *testing.F, format Format) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		if filepath.Ext(path) == ".golden" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 1.5)
		f.Add(text[:len(text)*2/3], 0.0)
	}
	f.Fuzz(func(t *testing.T, text []byte, seconds float64) {
		o := Options{Format: format, Seconds: seconds}
		if o.Validate() != nil {
			t.Skip()
		}
		r, err := Read(bytes.NewReader(text), o)
		if err != nil {
			return
		}
		checkResult(t, r)
		if again, err := Read(bytes.NewReader(text), o); err != nil || again.Traffic != r.Traffic {
			t.Errorf("read again: %+v, %v", again.Traffic, err)
		}
	})
}

func FuzzPerfCSV(f *testing.F)  { fuzz(f, PerfCSV) }
func FuzzPerfJSON(f *testing.F) { fuzz(f, PerfJSON) }
func FuzzPCM(f *testing.F)      { fuzz(f, PCM) }
func FuzzLikwid(f *testing.F)   { fuzz(f, Likwid) }

// FuzzDetect wants a format or the one error for none.
func FuzzDetect(f *testing.F) {
	f.Add([]byte(perfLines))
	f.Add([]byte(pcmHead))
	f.Add([]byte(timelineHead))
	f.Fuzz(func(t *testing.T, head []byte) {
		format, err := detect(head)
		if err == nil && readers[format] == nil {
			t.Errorf("format %q", format)
		}
		if err != nil && format != "" {
			t.Errorf("format %q and %v", format, errors.Unwrap(err))
		}
	})
}
