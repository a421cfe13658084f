package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/units"
)

// result is the bandwidth at the memory controller that one program reached.
type result struct {
	name      string
	bandwidth units.Bandwidth
}

// contestant makes traffic for about d. Some measure several kernels in a turn.
type contestant func(ctx context.Context, d time.Duration) ([]result, error)

const (
	// Ours run in chunks as an interferer needs them: small ones when it is
	// paced, larger ones when it is not.
	pacedChunk, unpacedChunk = 64 << 10, 512 << 10

	// betweenLooks is how often a turn looks at the clock, in bytes.
	betweenLooks = 1 << 20
)

// own runs the kernels of this repository over a buffer on huge pages.
type own struct {
	buffer *memory.Buffer
	buf    []byte
	at     int
}

func newOwn(mib int) (*own, error) {
	buffer, err := memory.New(int64(mib)<<20, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: less with -buffer", err)
	}
	kernel.Fill(buffer.Bytes(), 1)
	if huge, err := memory.HugeBytes(buffer); err == nil && huge < int64(mib)<<19 {
		fmt.Fprintf(os.Stderr, "kernelbench: only %d of %d MiB are on huge pages: %s\n", huge>>20, mib, memory.HugePagesRemedy)
	}
	return &own{buffer: buffer, buf: buffer.Bytes()}, nil
}

func (o *own) close() error { return o.buffer.Free() }

// contestants returns the fastest set in both sizes of chunks, the reference
// first, and the other sets of assembly.
func (o *own) contestants(share units.ReadShare) []contestant {
	mix, err := kernel.NewMix(share)
	if err != nil {
		return nil // parse checked the share
	}
	one := func(set kernel.Set, chunk int, name string) contestant {
		mix := mix
		return func(_ context.Context, d time.Duration) ([]result, error) {
			return []result{{"bandmate " + set.Name() + name, o.run(set, &mix, chunk, d)}}, nil
		}
	}
	best := kernel.Best()
	all := []contestant{one(best, unpacedChunk, ""), one(best, pacedChunk, ", chunks of 64 KiB")}
	for _, set := range kernel.Available()[1:] {
		if set.MinReadShare() <= share && set.Name() != kernel.Generic {
			all = append(all, one(set, unpacedChunk, ""))
		}
	}
	return all
}

func (o *own) run(set kernel.Set, mix *kernel.Mix, chunk int, d time.Duration) units.Bandwidth {
	var bytes uint64
	for start := time.Now(); ; {
		for range betweenLooks / chunk {
			bytes += set.Sequential(o.buf[o.at:o.at+chunk], mix, 0).Total()
			o.at += chunk
		}
		if o.at == len(o.buf) {
			o.at = 0
		}
		if elapsed := time.Since(start); elapsed >= d {
			return units.Bandwidth(float64(bytes) / elapsed.Seconds())
		}
	}
}

//go:embed c/kernel.c
var source []byte

// cProcess is c/kernel.c, compiled and waiting for rounds.
type cProcess struct {
	folder  string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startC(ctx context.Context, mib int) (_ *cProcess, err error) {
	folder, err := os.MkdirTemp("", "kernelbench")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	file, binary := filepath.Join(folder, "kernel.c"), filepath.Join(folder, "kernel")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return nil, err
	}
	if text, err := exec.CommandContext(ctx, "gcc", "-O3", "-march=native", "-o", binary, file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile kernel.c (apt-get install gcc libc6-dev): %w\n%s", err, text)
	}
	// Blocks of 1 MiB: C may do without chunks.
	p := &cProcess{folder: folder, command: exec.CommandContext(ctx, binary, fmt.Sprint(mib), "1024")}
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	// It says "ready" when its buffer is filled.
	if _, err := p.out.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("start the C kernels: %w", err), p.in.Close(), p.command.Wait())
	}
	return p, nil
}

func (p *cProcess) contestants(share units.ReadShare) []contestant {
	for kernel, s := range map[string]units.ReadShare{"read": 1, "third": 0.75, "all": 0.5} {
		if !near(s, share) {
			continue
		}
		var both []contestant
		for _, style := range []string{"intrinsics", "loop"} {
			both = append(both, func(_ context.Context, d time.Duration) ([]result, error) {
				bandwidth, err := p.run(kernel+"-"+style, d)
				return []result{{"C " + style, bandwidth}}, err
			})
		}
		return both
	}
	return nil
}

func (p *cProcess) run(kernel string, d time.Duration) (units.Bandwidth, error) {
	if _, err := fmt.Fprintln(p.in, kernel, d.Milliseconds()); err != nil {
		return 0, fmt.Errorf("kernel in C %s: %w", kernel, err)
	}
	var bytes, nanoseconds float64
	if _, err := fmt.Fscanln(p.out, &bytes, &nanoseconds); err != nil {
		return 0, fmt.Errorf("kernel in C %s: %w", kernel, err)
	}
	return units.Bandwidth(bytes / nanoseconds * 1e9), nil
}

func (p *cProcess) close() error {
	return errors.Join(p.in.Close(), p.command.Wait(), os.RemoveAll(p.folder))
}
