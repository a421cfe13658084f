package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"bandmate.dev/bandmate/samples"
)

// program is one application of the evaluation: fixed work of a few tenths of
// a second on one CPU.
type program struct {
	name string
	// debian is the package it comes from; empty for our own samples.
	debian string
	args   []string
}

// programs are those of Debian packages, then the built-in samples.
func programs(work, bandmate string) []program {
	in := func(name string) string { return filepath.Join(work, name) }
	all := []program{
		{"xz", "xz-utils", []string{"xz", "-1", "-k", "-c", "-T1", in("text-6m")}},
		{"zstd", "zstd", []string{"zstd", "-q", "-6", "-T1", "-c", in("text-20m")}},
		{"bzip2", "bzip2", []string{"bzip2", "-k", "-c", in("text-6m")}},
		{"sqlite3", "sqlite3", []string{"sqlite3", "-readonly", in("table.db"), sqliteQuery}},
		{"sort", "coreutils", []string{"sort", "--parallel=1", "-S", "512M", "-o", "/dev/null", in("text-32m")}},
		{"ffmpeg", "ffmpeg", strings.Fields("ffmpeg -nostdin -v error -threads 1 -f lavfi -i testsrc2=size=1920x1080:rate=25:duration=1 -c:v mpeg4 -f null -")},
		{"lammps", "lammps", []string{"lmp", "-log", "none", "-screen", "none", "-in", in("melt.lammps")}},
		{"numpy", "python3-numpy", []string{"/usr/bin/python3", in("arrays.py")}},
		{"stress-stream", "stress-ng", strings.Fields("stress-ng --quiet --stream 1 --stream-ops 1 --stream-l3-size 64m")},
		{"stress-matrix", "stress-ng", strings.Fields("stress-ng --quiet --matrix 1 --matrix-size 512 --matrix-method add --matrix-ops 8000")},
		{"sysbench", "sysbench", strings.Fields("sysbench memory --threads=1 --time=0 --memory-block-size=64M --memory-total-size=4G --memory-oper=write run")},
	}
	for _, s := range samples.All() {
		all = append(all, program{s.Name, "", []string{bandmate, "sample", s.Name}})
	}
	return all
}

const sqliteQuery = "pragma cache_size=-200000; select count(*), sum(a.v) from t a join t b on a.k = b.id where b.v % 3 = 0;"

const lammpsInput = `units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
run 7
`

const numpyProgram = `import numpy
a = numpy.arange(8_000_000, dtype=numpy.float64)
b = numpy.ones_like(a)
for _ in range(12):
    b += 0.5 * a
assert b[1] == 7.0
`

// makeInputs writes every input that is not there yet, always the same.
func makeInputs(ctx context.Context, work string) error {
	text := wordText(32 << 20)
	for name, content := range map[string][]byte{
		"text-32m":    text,
		"text-20m":    text[:20<<20],
		"text-6m":     text[:6<<20],
		"melt.lammps": []byte(lammpsInput),
		"arrays.py":   []byte(numpyProgram),
	} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o644); err != nil {
			return err
		}
	}
	database := filepath.Join(work, "table.db")
	if _, err := os.Stat(database); err == nil {
		return nil
	}
	const fill = `create table t(id integer primary key, k integer, v integer);
with recursive n(i) as (select 1 union all select i+1 from n where i < 400000)
insert into t select i, (i * 7919) % 400000 + 1, (i * 104729) % 1000 from n;`
	if out, err := exec.CommandContext(ctx, "sqlite3", database, fill).CombinedOutput(); err != nil {
		return fmt.Errorf("making the database: %w: %s", err, out)
	}
	return nil
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
