package kernel

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/units"
)

// declaration says what one pass through a loop does, in instructions that
// touch the buffer. Tests hold it against the instructions in the assembly and
// against what happens to buffers.
type declaration struct {
	// Kernel names the loop. "stream/3" loads 8 lines and modifies 3 of them,
	// and so on from 0 to 8; "blend/modify" and "blend/store" are the two
	// sides of the blend for read shares below 50%; "random/…" are the visits
	// of random lines.
	Kernel string
	// Set is the name of a [Set].
	Set string
	// Loads, Stores and NonTemporalStores count instructions, but for the
	// generic set, where they count 64-bit words of the source.
	Loads, Stores, NonTemporalStores int
	// BytesPerIteration is the part of the buffer that the pass visits. Of a
	// random line that is loaded, only the first word is.
	BytesPerIteration int
}

// declarations returns what the loops of the sets compiled for this
// architecture do, whether or not this CPU has them.
func declarations() []declaration {
	return append(nativeDeclarations(), declare(Generic, lineWords, false)...)
}

func nativeDeclarations() []declaration {
	switch runtime.GOARCH {
	case "amd64":
		return append(declare(AVX512, 1, true), declare(AVX2, 2, true)...)
	case "arm64":
		return declare(NEON, 1, false)
	}
	return nil
}

// declare declares the loops of a set that moves a line in perLine parts.
func declare(set string, perLine int, nonTemporal bool) []declaration {
	var all []declaration
	for k := range GroupLines + 1 {
		all = append(all, declaration{
			Kernel: fmt.Sprintf("stream/%d", k), Set: set,
			Loads: GroupLines * perLine, Stores: k * perLine,
			BytesPerIteration: GroupLines * lineWords * 8,
		})
	}
	overwrite := declaration{Set: set, BytesPerIteration: lineWords * 8}
	if nonTemporal {
		overwrite.NonTemporalStores = perLine
	} else {
		overwrite.Stores = perLine
	}
	blend, random := overwrite, overwrite
	blend.Kernel, random.Kernel = "blend/store", "random/store"
	return append(all,
		declaration{
			Kernel: "blend/modify", Set: set, Loads: perLine, Stores: perLine,
			BytesPerIteration: lineWords * 8,
		},
		blend,
		declaration{Kernel: "random/load", Set: set, Loads: 1, BytesPerIteration: lineWords * 8},
		declaration{Kernel: "random/modify", Set: set, Loads: 1, Stores: 1, BytesPerIteration: lineWords * 8},
		random,
	)
}

// TestDeclaredInstructions counts the instructions of each loop in the
// committed assembly.
func TestDeclaredInstructions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the loops of other architectures are not unrolled by kind; TestDeclaredBytes checks what they do")
	}
	text, err := os.ReadFile("kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range nativeDeclarations() {
		t.Run(d.Set+"/"+d.Kernel, func(t *testing.T) {
			for _, name := range blocksOf(d) {
				block := blockOf(t, string(text), d.Set, name)
				got := countInstructions(block)
				got.Kernel, got.Set, got.BytesPerIteration = d.Kernel, d.Set, d.BytesPerIteration
				if got != d {
					t.Errorf("loop %s has %+v, declared is %+v", name, got, d)
				}
			}
		})
	}
}

// blocksOf returns the labels in the assembly, as FUNCTION:LABEL, of the loops
// that a declaration is about; none for those written in Go.
func blocksOf(d declaration) []string {
	var k int
	if _, err := fmt.Sscanf(d.Kernel, "stream/%d", &k); err == nil {
		var blocks []string
		if k < GroupLines {
			blocks = append(blocks, fmt.Sprintf("stream:less%d", k))
		}
		if k > 0 {
			blocks = append(blocks, fmt.Sprintf("stream:more%d", k-1))
		}
		switch k {
		case 0:
			blocks = append(blocks, "stream:read")
		case GroupLines:
			blocks = append(blocks, "stream:modify")
		}
		return blocks
	}
	switch d.Kernel {
	case "blend/modify":
		return []string{"blend:next"}
	case "blend/store":
		return []string{"blend:store"}
	case "random/store":
		return []string{"randomBlend:store"}
	}
	return nil
}

// blockOf returns the instructions behind a label up to the next one.
func blockOf(t *testing.T, text, set, name string) string {
	t.Helper()
	function, label, _ := strings.Cut(name, ":")
	_, body, ok := strings.Cut(text, "TEXT ·"+function+strings.ToUpper(set)+"(SB)")
	if !ok {
		t.Fatalf("no function %s for %s", function, set)
	}
	_, body, ok = strings.Cut(body, "\n"+label+":\n")
	if !ok {
		t.Fatalf("no label %s in %s for %s", label, function, set)
	}
	end := regexp.MustCompile(`(?m)^\w+:$`).FindStringIndex(body)
	if end == nil {
		t.Fatalf("no label behind %s in %s", label, function)
	}
	return body[:end[0]]
}

var (
	loads    = regexp.MustCompile(`(?m)^\tVMOVDQU(64)? +\d*\(\w+\), [YZ]\d+$`)
	stores   = regexp.MustCompile(`(?m)^\tVMOVDQU(64)? +[YZ]\d+, \d*\(\w+\)$`)
	streamed = regexp.MustCompile(`(?m)^\tVMOVNTDQ +[YZ]\d+, \d*\(\w+\)$`)
)

func countInstructions(block string) declaration {
	return declaration{
		Loads:             len(loads.FindAllString(block, -1)),
		Stores:            len(stores.FindAllString(block, -1)),
		NonTemporalStores: len(streamed.FindAllString(block, -1)),
	}
}

// TestDeclaredBytes runs the loops that are declared over a buffer and counts
// the lines that change and that are loaded.
func TestDeclaredBytes(t *testing.T) {
	const pages = 8
	const iterations = pages * ChunkAlign / units.LineBytes / GroupLines
	perLine := map[string]int{AVX512: 1, AVX2: 2, NEON: 1, Generic: lineWords}
	for _, d := range declarations() {
		var k int
		if _, err := fmt.Sscanf(d.Kernel, "stream/%d", &k); err != nil {
			continue
		}
		i := slices.IndexFunc(Available(), func(s Set) bool { return s.Name() == d.Set })
		if i < 0 {
			continue // not on this CPU
		}
		set := Available()[i]
		buf := guarded(t, pages*ChunkAlign, uint64(k))
		before := bytes.Clone(buf)
		var sum line
		eighths, step := uint64(k), uint64(0)
		if k == GroupLines {
			eighths, step = GroupLines-1, math.MaxUint64
		}
		set.stream(buf, eighths, half, step, &sum)
		if got, want := changedLines(before, buf), uint64(iterations*d.Stores/perLine[d.Set]); got != want {
			t.Errorf("%s %s: %d lines change, declared are %d", d.Set, d.Kernel, got, want)
		}
		if sum != sumOf(before) {
			t.Errorf("%s %s: not every word is loaded once", d.Set, d.Kernel)
		}
		if got := d.Loads / perLine[d.Set] * units.LineBytes; got != d.BytesPerIteration {
			t.Errorf("%s %s: loads of %d bytes, declared are %d", d.Set, d.Kernel, got, d.BytesPerIteration)
		}
	}
}

func TestDeclarationsAreComplete(t *testing.T) {
	seen := map[string]int{}
	for _, d := range declarations() {
		seen[d.Set]++
	}
	for _, s := range Available() {
		if seen[s.Name()] != GroupLines+1+5 {
			t.Errorf("%s has %d declarations, want %d", s.Name(), seen[s.Name()], GroupLines+1+5)
		}
	}
}
