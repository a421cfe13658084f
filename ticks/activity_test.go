package ticks

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/requires"
)

// stripped returns a copy of a program without names of functions.
func stripped(t *testing.T, program string) string {
	t.Helper()
	tool, err := exec.LookPath("strip")
	if err != nil {
		requires.Unmet(t, "needs strip: %v", err)
	}
	output := filepath.Join(filepath.Dir(program), "stripped")
	if out, err := exec.Command(tool, "-o", output, program).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	return output
}

// addressIn returns the address symbol of a function, from the file that names it.
func addressIn(t *testing.T, program, symbol string) (place string, offset uint64) {
	t.Helper()
	table, err := readSymbols(program)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := readFunctions(program)
	if err != nil {
		t.Fatal(err)
	}
	offset = table.offsets[symbol]
	address, ok := c.addressOf(offset)
	if !ok {
		t.Fatalf("%s lies at %#x, in no code", symbol, offset)
	}
	return addressSymbol(address), offset
}

func TestFunctionByAddress(t *testing.T) {
	needUprobe(t)
	named, _ := buildWorker(t)
	program := stripped(t, named)
	symbol, offset := addressIn(t, named, "worker_step")
	if got, err := (Function{Symbol: symbol}).offset(program); err != nil || got != offset {
		t.Errorf("%s lies at %#x, %v; want %#x", symbol, got, err, offset)
	}
	if _, err := (Function{Symbol: symbol + "1"}).offset(program); err == nil {
		t.Error("an address at which no function starts is taken")
	}
	if _, err := (Function{Symbol: "0xstep"}).offset(program); err == nil {
		t.Error("0xstep is taken for an address")
	}
	f, err := ParseFunction(symbol)
	if err != nil {
		t.Fatal(err)
	}
	s := startWorker(t, program)
	c := open(t, prepare(t, f), s.pid)
	s.ask("step 300")
	if n, err := c.Read(); err != nil || n != 300 {
		t.Errorf("%v calls, %v; want 300", n, err)
	}
}

// breakWorker returns a breakpoint at a function of the worker.
func breakWorker(t *testing.T, s started, f Function, offset uint64) reader {
	t.Helper()
	regions, err := regionsOf(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	b, err := breakAt(s.pid, regions, place{function: f, offset: offset})
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err) // some virtual machines have none, whatever is promised
	}
	if err != nil {
		requires.Unmet(t, "needs breakpoints of the processor: %v", err)
	}
	return b
}

func TestBreakpoint(t *testing.T) {
	program, _ := buildWorker(t)
	_, offset := addressIn(t, program, "worker_step")
	s := startWorker(t, program)
	b := breakWorker(t, s, Function{Symbol: "worker_step"}, offset)
	s.ask("step 300")
	if n, err := b.read(); err != nil || n != 300 {
		t.Errorf("%v calls, %v; want 300", n, err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	if _, err := breakAt(s.pid, nil, place{function: Function{Library: "libnone.so"}}); !errors.Is(err, errNotLoaded) {
		t.Errorf("%v, want %v", err, errNotLoaded)
	}
}

// Functions without names are found where the program is in them.
func TestActive(t *testing.T) {
	needUprobe(t)
	named, _ := buildWorker(t)
	program := stripped(t, named)
	symbol, offset := addressIn(t, named, "run")
	pid, stop, err := running(t, program, "run 60000")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for begin := time.Now(); ; {
		regions, err := regionsOf(pid)
		if err != nil {
			t.Fatal(err)
		}
		found, err := active(pid, regions)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			if p.function == (Function{Symbol: symbol}) && p.offset == offset {
				return
			}
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("%v: %s is not among them", found, symbol)
		}
	}
}
