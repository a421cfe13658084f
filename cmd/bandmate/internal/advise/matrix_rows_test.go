package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// known is a made-up slowdown that is a whole number on the diagonal.
func known(i, j int) units.Slowdown { return 1 + units.Slowdown((i-j)*(i-j))/7 }

// TestMatrixRows checks that a matrix written row by row is the text that the encoders
// make of the whole of it, whatever the texts in it are.
func TestMatrixRows(t *testing.T) {
	for _, n := range []int{1, 2, 130} {
		r := MatrixResult{Method: "default", Warnings: []string{"\n  \"slowdowns\": []", "\nslowdowns: []\n"}}
		for i := range n {
			r.Applications = append(r.Applications, strings.Repeat("a", i%9+1)+"\"slowdowns\": []")
		}
		whole := r
		for i := range n {
			row := make([]float64, n)
			for j := range n {
				row[j] = float64(known(i, j))
			}
			whole.Slowdowns = append(whole.Slowdowns, row)
		}
		asJSON, err := json.MarshalIndent(whole, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := yaml.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		for format, want := range map[string]string{cli.FormatJSON: string(asJSON) + "\n", cli.FormatYAML: string(asYAML)} {
			var got bytes.Buffer
			if err := r.writeRows(&got, format, known); err != nil {
				t.Fatal(err)
			}
			if got.String() != want {
				t.Errorf("%d applications as %s: %.300s\nwant %.300s", n, format, &got, want)
			}
		}
	}
}

// What is not known is null, not a number and not an error of the encoder.
func TestMatrixRowsUnknown(t *testing.T) {
	r := MatrixResult{Applications: []string{"a", "b"}}
	unknown := func(i, j int) units.Slowdown { return units.Slowdown([]float64{1, math.NaN(), math.Inf(1), 2}[2*i+j]) }
	for _, format := range []string{cli.FormatJSON, cli.FormatYAML} {
		var text bytes.Buffer
		if err := r.writeRows(&text, format, unknown); err != nil {
			t.Fatal(err)
		}
		var got struct{ Slowdowns [][]*float64 }
		if err := yaml.Unmarshal(text.Bytes(), &got); err != nil { // JSON is YAML
			t.Fatal(err)
		}
		s := got.Slowdowns
		if *s[0][0] != 1 || s[0][1] != nil || s[1][0] != nil || *s[1][1] != 2 {
			t.Errorf("%s: %s", format, &text)
		}
	}
}

// full is a device without space.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestMatrixRowsCannotBeWritten(t *testing.T) {
	r := MatrixResult{Applications: []string{"a", "b"}, Warnings: []string{strings.Repeat("x", 100)}}
	var whole bytes.Buffer
	if err := r.writeRows(&whole, cli.FormatJSON, known); err != nil {
		t.Fatal(err)
	}
	for room := range whole.Len() {
		if err := r.writeRows(&full{room}, cli.FormatJSON, known); !errors.Is(err, errFull) {
			t.Fatalf("with room for %d of %d bytes: %v", room, whole.Len(), err)
		}
	}
}

// BenchmarkMatrixRows writes the rows of 10,000 applications. It allocates what some rows
// take.
func BenchmarkMatrixRows(b *testing.B) {
	r := MatrixResult{Applications: make([]string, 10_000)}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.writeRows(&full{math.MaxInt}, cli.FormatJSON, known); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMatrixStops checks that neither the predictions nor the rows of a matrix go on when
// the user has ended the command.
func TestMatrixStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := predictionFlags{method: string(predictor.Memgen)}
	g, _, err := f.selected(t.Context(), &cli.App{StoreDir: "../../../../docs/example/store"}, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := predictMatrix(ctx, g, nil, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("predictions: %v", err)
	}
	var got bytes.Buffer
	r := MatrixResult{Applications: []string{"a", "b"}}
	if err := r.writeRows(untilDone{ctx, &got}, cli.FormatJSON, known); !errors.Is(err, context.Canceled) || got.Len() > 0 {
		t.Errorf("rows: %v, %q", err, &got)
	}
}
