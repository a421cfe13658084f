package v1alpha1_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// drawApplication draws a valid profile whose numbers use all digits.
func drawApplication(t *rapid.T) *v1alpha1.ApplicationProfile {
	p := soundApplication()
	p.Name = rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z0-9]{1,9})?`).Draw(t, "name")
	// yes, 1e3, "a: b", ~ and the like must stay text.
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "yes", "~", "1e3", "0x1f", "1:30", "a: b", "- a", "# c", " x ", "2026-01-01", "\n", "{", "'", `"`, "---", "null", ".nan", "é", "<<"}),
		rapid.StringOf(rapid.RuneFrom([]rune("ab01 :#-{}[],&*!|>'\"%@`?~.\n\t\\/é×🙂"))),
	)
	p.Spec.Command = rapid.SliceOfN(text, 0, 4).Draw(t, "command")
	if len(p.Spec.Command) == 0 {
		p.Spec.Command = nil // both mean absent
	}
	p.Spec.Solo.Seconds = rapid.Float64Range(1e-9, 5e8).Draw(t, "seconds")
	p.Spec.Distance.CorunnerSolo.Seconds = p.Spec.Solo.Seconds * rapid.Float64Range(0.5, 2).Draw(t, "slower away")
	p.Spec.Solo.RelativeSpread = new(rapid.Float64Range(0, 10).Draw(t, "spread"))
	p.Spec.Contentiousness.ReadBytesPerSecond = rapid.Float64Range(1e3, 1e13).Draw(t, "reads")
	p.Spec.Contentiousness.WriteBytesPerSecond = rapid.Float64Range(0, 1e13).Draw(t, "writes")
	points := p.Spec.Curves[0].Points
	for i := range points {
		points[i].NormalizedPerformance = rapid.Float64Range(1e-6, 1.5).Draw(t, "performance")
		points[i].AchievedBytesPerSecond = new(rapid.Float64Range(0, 1e13).Draw(t, "achieved"))
	}
	return p
}

// A file gives back the profile, but for digits beyond SignificantDigits.
func TestRoundTrip(t *testing.T) {
	tolerance := cmpopts.EquateApprox(0.6*math.Pow10(1-v1alpha1.SignificantDigits), 0)
	rapid.Check(t, func(t *rapid.T) {
		p := drawApplication(t)
		text, err := v1alpha1.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := v1alpha1.Decode(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, ok := decoded.(*v1alpha1.ApplicationProfile)
		if !ok {
			t.Fatalf("a %T", decoded)
		}
		times := cmpopts.EquateApproxTime(0)
		if diff := cmp.Diff(p.Spec, got.Spec, tolerance, times); diff != "" || got.Name != p.Name {
			t.Fatalf("name %s, %s\n%s", got.Name, diff, text)
		}
		again, err := v1alpha1.Encode(got)
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("the second time: %v\n%s", err, cmp.Diff(string(text), string(again)))
		}
	})
}

// Reading never panics, and what it accepts survives writing.
func FuzzDecodeAll(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: bandmate.dev/v1alpha1, kind: MachineProfile}]\n"))
	f.Add([]byte(`{"apiVersion":"bandmate.dev/v1alpha1","kind":"MachineProfile","metadata":{"name":"a"},` +
		`"spec":{"sockets":1,"numaNodes":1,"cpus":1,"sustained":[{"readShare":1,"bytesPerSecond":1e9,"repeats":1}]}}`))
	f.Add([]byte("a: &a [*a]\n---\n...\n%YAML 1.1\n--- !!str x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := v1alpha1.DecodeAll(data)
		if err != nil || len(objects) == 0 {
			return
		}
		text, err := v1alpha1.EncodeAll(objects...)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := v1alpha1.DecodeAll(text)
		if err != nil || len(again) != len(objects) {
			t.Fatalf("what was written cannot be read: %v\n%s", err, text)
		}
		second, err := v1alpha1.EncodeAll(again...)
		if err != nil || !bytes.Equal(text, second) {
			t.Fatalf("written differently the second time: %v\n%s", err, cmp.Diff(string(text), string(second)))
		}
	})
}
