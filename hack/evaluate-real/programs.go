package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/samples"
)

// program is one application of the evaluation: fixed work of a second or two on
// one CPU.
type program struct {
	name string
	// debian is the package it comes from; empty for our own samples.
	debian string
	args   []string
	dir    string
}

func (p program) application() onboard.Application {
	return onboard.Application{Name: p.name, Command: launch.Command{Args: p.args, Dir: p.dir, Timeout: 2 * time.Minute}}
}

// packaged is 1 for a program of a package, 0 for a sample.
func (p program) packaged() int {
	if p.debian == "" {
		return 0
	}
	return 1
}

// sampleScale is the work of the samples.
const sampleScale = "1"

// programs are those of Debian packages, then the built-in samples.
func programs(work, bandmate string) []program {
	all := []program{
		{name: "gawk", debian: "gawk", args: []string{"gawk", gawkProgram, "text-12m"}},
		{name: "perl", debian: "perl", args: []string{"perl", "-e", perlProgram, "text-12m"}},
		{name: "python3", debian: "python3", args: []string{"/usr/bin/python3", "words.py", "text-12m"}},
		{name: "sqlite3", debian: "sqlite3", args: []string{"sqlite3", "-readonly", "table.db", sqliteQuery}},
		{name: "sed", debian: "sed", args: []string{"sed", "s/a/b/g", "text-20m"}},
		{name: "gunzip", debian: "gzip", args: []string{"gzip", "-d", "-c", "text.gz"}},
		{name: "unxz", debian: "xz-utils", args: []string{"xz", "-d", "-c", "text.xz"}},
		{name: "bunzip2", debian: "bzip2", args: []string{"bzip2", "-d", "-c", "text.bz2"}},
		{name: "unzstd", debian: "zstd", args: []string{"zstd", "-q", "-d", "-c", "text.zst"}},
		{name: "flac", debian: "flac", args: strings.Fields("flac -s -8 -c sound.wav")},
		{name: "lame", debian: "lame", args: strings.Fields("lame --quiet -q 5 speech.wav /dev/null")},
		{name: "openssl", debian: "openssl", args: strings.Fields("openssl dgst -sha512 text-512m")},
		{name: "mawk", debian: "mawk", args: []string{"mawk", gawkProgram, "text-20m"}},
		{name: "od", debian: "coreutils", args: strings.Fields("od -t x1 text-6m")},
	}
	for _, s := range samples.All() {
		all = append(all, program{name: s.Name, args: []string{bandmate, "sample", "--scale", sampleScale, s.Name}})
	}
	for i := range all {
		all[i].dir = work
	}
	return all
}

const sqliteQuery = "select count(*), sum(a.v) from t a join t b on a.k = b.id where b.v % 3 = 0;"

// gawkProgram counts words.
const gawkProgram = `{ for (i = 1; i <= NF; i++) n[$i]++ } END { print length(n) }`

// perlProgram counts words and pairs of words, in a hash that is larger than caches.
const perlProgram = `my ($last, %n) = (""); while (<>) { for (split) { $n{$_}++; $n{"$last $_"}++; $last = $_ } } print scalar(keys %n), "\n"`

// pythonProgram counts words.
const pythonProgram = `import sys
counts = {}
for line in open(sys.argv[1]):
    for word in line.split():
        counts[word] = counts.get(word, 0) + 1
print(len(counts))
`

// makeInputs writes every input that is not there yet, always the same.
func makeInputs(ctx context.Context, work string) error {
	text := wordText(32 << 20)
	for name, content := range map[string]func() []byte{
		"text-6m":    func() []byte { return text[:6<<20] },
		"text-20m":   func() []byte { return text[:20<<20] },
		"text-12m":   func() []byte { return text[:12<<20] },
		"text-64m":   func() []byte { return bytes.Repeat(text, 2) },
		"text-512m":  func() []byte { return bytes.Repeat(text, 16) },
		"words.py":   func() []byte { return []byte(pythonProgram) },
		"sound.wav":  func() []byte { return sound(160) },
		"speech.wav": func() []byte { return sound(50) },
	} {
		path := filepath.Join(work, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, content(), 0o644); err != nil {
			return err
		}
	}
	if err := compress(ctx, work); err != nil {
		return err
	}
	database := filepath.Join(work, "table.db")
	if _, err := os.Stat(database); err == nil {
		return nil
	}
	const fill = `create table t(id integer primary key, k integer, v integer);
with recursive n(i) as (select 1 union all select i+1 from n where i < 1000000)
insert into t select i, (i * 7919) % 1000000 + 1, (i * 104729) % 1000 from n;`
	if out, err := exec.CommandContext(ctx, "sqlite3", database, fill).CombinedOutput(); err != nil {
		return fmt.Errorf("making the database: %w: %s", err, out)
	}
	return nil
}

// compress compresses a text, and repeats the result: each of these formats may be
// joined.
func compress(ctx context.Context, work string) error {
	for _, c := range []struct {
		name, text string
		times      int
		args       []string
	}{
		{"text.gz", "text-20m", 8, []string{"gzip", "-1", "-c"}},
		{"text.xz", "text-6m", 10, []string{"xz", "-1", "-c"}},
		{"text.bz2", "text-6m", 4, []string{"bzip2", "-c"}},
		{"text.zst", "text-20m", 30, []string{"zstd", "-q", "-c"}},
	} {
		path := filepath.Join(work, c.name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		packed, err := exec.CommandContext(ctx, c.args[0], append(c.args[1:], filepath.Join(work, c.text))...).Output()
		if err != nil {
			return fmt.Errorf("making %s: %w", c.name, err)
		}
		if err := os.WriteFile(path, bytes.Repeat(packed, c.times), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sound is a WAV file of some seconds: three tones that swell, and noise.
func sound(seconds int) []byte {
	const rate, channels, sampleBytes = 44100, 2, 2
	random := rand.New(rand.NewPCG(7, 0))
	samples := make([]int16, 0, seconds*rate*channels)
	for n := range seconds * rate {
		t := float64(n) / rate
		v := 0.05 * (random.Float64() - 0.5)
		for i, frequency := range []float64{220, 331, 1471} {
			v += 0.25 * math.Sin(2*math.Pi*frequency*t) * math.Sin(float64(i+1)*t)
		}
		samples = append(samples, int16(32000*v), int16(30000*v))
	}
	var file bytes.Buffer
	write := func(data any) { _ = binary.Write(&file, binary.LittleEndian, data) } // to memory
	size := uint32(len(samples) * sampleBytes)
	file.WriteString("RIFF")
	write(36 + size)
	file.WriteString("WAVEfmt ")
	write([]uint32{16})
	write([]uint16{1, channels})
	write([]uint32{rate, rate * channels * sampleBytes})
	write([]uint16{channels * sampleBytes, 8 * sampleBytes})
	file.WriteString("data")
	write(size)
	write(samples)
	return file.Bytes()
}

// wordText is text of made-up words with the skew of a natural language.
func wordText(size int) []byte {
	random := rand.New(rand.NewPCG(42, 0))
	words := make([]string, 20000)
	for i := range words {
		word := make([]byte, 2+random.IntN(9))
		for j := range word {
			word[j] = byte('a' + random.IntN(26))
		}
		words[i] = string(word)
	}
	pick := rand.NewZipf(random, 1.1, 4, uint64(len(words)-1))
	var text bytes.Buffer
	text.Grow(size + 64)
	for line := 0; text.Len() < size; line++ {
		text.WriteString(words[pick.Uint64()])
		if line%11 == 10 {
			text.WriteByte('\n')
		} else {
			text.WriteByte(' ')
		}
	}
	return text.Bytes()[:size]
}
