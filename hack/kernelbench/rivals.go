package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"bandmate.dev/bandmate/units"
)

// rival is a program that measures itself.
type rival struct {
	shares []units.ReadShare
	// at returns the contestant for one of the shares.
	at func(units.ReadShare) contestant
}

// rivals returns the installed ones.
func rivals(o options) []rival {
	var all []rival
	if installed("likwid-bench", "likwid") {
		all = append(all, likwid(o)...)
	}
	if installed("stress-ng", "stress-ng") {
		all = append(all, memrate(o), stream(o))
	}
	return all
}

func installed(program, debianPackage string) bool {
	if _, err := exec.LookPath(program); err != nil {
		fmt.Fprintf(os.Stderr, "kernelbench: without %s: not installed (apt-get install %s)\n", program, debianPackage)
		return false
	}
	return true
}

// likwidKernel is a kernel of likwid-bench and its traffic in words per element.
// likwid-bench counts loads and stores; it does not count that a plain store to
// a line that was not loaded reads it first.
type likwidKernel struct {
	name                   string
	counted, reads, writes int
}

func (k likwidKernel) share() units.ReadShare {
	return units.ReadShare(k.reads) / units.ReadShare(k.reads+k.writes)
}

// controller converts a rate that likwid-bench prints.
func (k likwidKernel) controller(counted units.Bandwidth) units.Bandwidth {
	return counted * units.Bandwidth(k.reads+k.writes) / units.Bandwidth(k.counted)
}

var likwidKernels = []likwidKernel{
	{"load", 1, 1, 0},       // a[i]
	{"ddot", 2, 2, 0},       // a[i], b[i]
	{"triad", 4, 4, 1},      // a[i] = b[i]*c[i] + d[i]; a is read too
	{"stream", 3, 3, 1},     // a[i] = b[i]*s + c[i]; a is read too
	{"triad_mem", 4, 3, 1},  // with non-temporal stores
	{"copy", 2, 2, 1},       // a[i] = b[i]; a is read too
	{"daxpy", 3, 2, 1},      // a[i] = a[i]*s + b[i]
	{"stream_mem", 3, 2, 1}, // with non-temporal stores
	{"update", 2, 1, 1},     // a[i] = s*a[i]
	{"store", 1, 1, 1},      // a[i] = s; a is read too
	{"copy_mem", 2, 1, 1},   // with non-temporal stores
	{"store_mem", 1, 0, 1},  // with non-temporal stores
}

var likwidRate = regexp.MustCompile(`(?m)^MByte/s:\s+([0-9.]+)$`)

func likwid(o options) []rival {
	suffix := ""
	switch {
	case cpuid.CPU.Supports(cpuid.AVX512F):
		suffix = "_avx512"
	case cpuid.CPU.Supports(cpuid.AVX):
		suffix = "_avx"
	}
	var all []rival
	for _, k := range likwidKernels {
		run := func(ctx context.Context, d time.Duration) ([]result, error) {
			megabytes := o.bufferMiB << 20 / 1_000_000
			// As many passes as take d at 45 GB/s.
			passes := max(1, int(d.Seconds()*45e3/float64(megabytes)))
			text, err := output(ctx, "likwid-bench", "-t", k.name+suffix,
				"-w", fmt.Sprintf("S0:%dMB:1", megabytes), "-i", strconv.Itoa(passes))
			if err != nil {
				return nil, err
			}
			rate, err := number(likwidRate, text)
			return []result{{"likwid-bench " + k.name + suffix, k.controller(units.Bandwidth(rate) * units.MegabytePerSecond)}}, err
		}
		all = append(all, rival{[]units.ReadShare{k.share()}, func(units.ReadShare) contestant { return run }})
	}
	return all
}

var memrateRate = regexp.MustCompile(`memrate +([0-9.]+) (\w+) MB per sec`)

// memrateKinds are the loops of stress-ng's memrate that make a read share.
var memrateKinds = []struct {
	share   units.ReadShare
	methods *regexp.Regexp
	// lines moved for each that is counted, and the remark in the table.
	factor units.Bandwidth
	remark string
}{
	{1, regexp.MustCompile(`^read`), 1, ""},
	{0.5, regexp.MustCompile(`^write\d+$`), 2, ""},
	{0.5, regexp.MustCompile(`^write\d+sto`), 2, " (if it reads)"},
	{0, regexp.MustCompile(`^memset$|^write\d+sto`), 1, " (if it does not read)"},
}

// memrate runs all of stress-ng's loops; the table keeps the best one of a kind.
// Its MB are 2²⁰ bytes. Its plain writes read every line first. Whether a line
// is read first by "rep stos", and by memset, which uses it, is up to the
// processor: "rep stos" is shown both ways.
func memrate(o options) rival {
	var shares []units.ReadShare
	for _, kind := range memrateKinds {
		shares = append(shares, kind.share)
	}
	return rival{shares, func(share units.ReadShare) contestant {
		return func(ctx context.Context, _ time.Duration) ([]result, error) {
			text, err := output(ctx, "stress-ng", "--memrate", "1", "--memrate-ops", "1",
				"--memrate-bytes", fmt.Sprintf("%dM", o.bufferMiB), "--metrics", "--timeout", "20s")
			if err != nil {
				return nil, err
			}
			var results []result
			for _, m := range memrateRate.FindAllStringSubmatch(text, -1) {
				rate, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					return nil, err
				}
				for _, kind := range memrateKinds {
					if near(kind.share, share) && kind.methods.MatchString(m[2]) {
						results = append(results, result{
							memratePrefix + m[2] + kind.remark,
							units.Bandwidth(rate) * (1 << 20) * kind.factor,
						})
					}
				}
			}
			if len(results) == 0 {
				return nil, fmt.Errorf("no rates in the output of stress-ng --memrate:\n%s", text)
			}
			return results, nil
		}
	}}
}

const memratePrefix = "stress-ng memrate "

// memrateKind is the same for those loops of memrate of which the table keeps
// the best; empty for other contestants.
func memrateKind(contestant string) string {
	method, ok := strings.CutPrefix(contestant, memratePrefix)
	switch {
	case !ok:
		return ""
	case strings.HasPrefix(method, "read"):
		return "read"
	case strings.Contains(method, "sto"), strings.HasPrefix(method, "memset"):
		return "rep stos"
	}
	return "write"
}

var (
	streamReads  = regexp.MustCompile(`memory rate: ([0-9.]+) MB read/sec`)
	streamWrites = regexp.MustCompile(`memory rate: [^\n]*?([0-9.]+) MB write/sec`)
)

// stream is STREAM's copy, scale, add and triad in one: 6 loads and 4 stores of
// which each reads the line first, that is 10 reads and 4 writes. It needs 5
// seconds to print a rate. Its MB are 2²⁰ bytes.
func stream(o options) rival {
	return rival{[]units.ReadShare{10. / 14}, func(units.ReadShare) contestant {
		return func(ctx context.Context, _ time.Duration) ([]result, error) {
			text, err := output(ctx, "stress-ng", "--stream", "1", "--stream-madvise", "hugepage",
				"--stream-l3-size", fmt.Sprintf("%dM", o.bufferMiB/8), "--timeout", "5s")
			if err != nil {
				return nil, err
			}
			reads, err := number(streamReads, text)
			if err != nil {
				return nil, err
			}
			writes, err := number(streamWrites, text)
			return []result{{"stress-ng stream", units.Bandwidth(reads+2*writes) * (1 << 20)}}, err
		}
	}}
}

// output runs a program with huge pages for what it allocates.
func output(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", "LC_ALL=C")
	text, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text), nil
}

// number returns what the first group of a pattern matches.
func number(pattern *regexp.Regexp, text string) (float64, error) {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("no %q in:\n%s", pattern, text)
	}
	return strconv.ParseFloat(m[1], 64)
}
