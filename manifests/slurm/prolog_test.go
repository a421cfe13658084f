package slurmfiles_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pretendBandmate runs the command that is to be measured and then prints a
// measurement, as bandmate measure does.
const pretendBandmate = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
"$@" && printf '{\n  "source": "imc",\n  "readBytesPerSecond": 1.5e9\n}\n'
`

// recorder runs prolog and epilog in a folder of the test.
type recorder struct {
	t       *testing.T
	folder  string
	records string
	env     []string
}

func newRecorder(t *testing.T) recorder {
	t.Helper()
	folder := t.TempDir()
	bandmate := filepath.Join(folder, "bandmate")
	if err := os.WriteFile(bandmate, []byte(pretendBandmate), 0o755); err != nil {
		t.Fatal(err)
	}
	r := recorder{t: t, folder: filepath.Join(folder, "run"), records: filepath.Join(folder, "log", "jobs.jsonl")}
	r.env = append(os.Environ(), "BANDMATE="+bandmate, "BANDMATE_RUN="+r.folder, "BANDMATE_RECORDS="+r.records, "SLURMD_NODENAME=n01")
	return r
}

// script runs prolog.sh or epilog.sh for a job; neither may fail or print.
func (r recorder) script(name, job string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "./"+name)
	cmd.Env = append(r.env, "SLURM_JOB_ID="+job)
	if output, err := cmd.CombinedOutput(); err != nil || len(output) > 0 {
		r.t.Fatalf("%s of job %s: %v\n%s", name, job, err, output)
	}
}

// lines waits until there are as many records, and returns them.
func (r recorder) lines(count int) string {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(r.records)
		left, _ := filepath.Glob(r.folder + "/*")
		if strings.Count(string(text), "\n") == count && len(left) == 0 {
			return string(text)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("records %q, %v; want %d; left behind: %v", text, err, count, left)
		}
	}
}

func TestPrologAndEpilogRecordAJob(t *testing.T) {
	r := newRecorder(t)
	r.script("prolog.sh", "7")
	r.script("epilog.sh", "7")
	var record struct {
		Job     int
		Node    string
		Alone   bool
		Traffic struct{ ReadBytesPerSecond float64 }
	}
	if err := json.Unmarshal([]byte(r.lines(1)), &record); err != nil {
		t.Fatal(err)
	}
	if record.Job != 7 || record.Node != "n01" || !record.Alone || record.Traffic.ReadBytesPerSecond != 1.5e9 {
		t.Errorf("%+v, want job 7 alone on n01 with 1.5 GB/s", record)
	}
}

func TestJobsThatMeetAreNotAlone(t *testing.T) {
	r := newRecorder(t)
	r.script("prolog.sh", "7")
	r.script("prolog.sh", "8")
	r.script("epilog.sh", "8")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.folder, "8.end")); os.IsNotExist(err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the record of job 8 is not finished")
		}
	}
	r.script("epilog.sh", "7")
	if text := r.lines(2); strings.Count(text, `"alone":false`) != 2 {
		t.Errorf("%s, want neither alone", text)
	}
}

func TestPrologNeverFailsAJob(t *testing.T) {
	r := newRecorder(t)
	for _, job := range []string{"", "../../etc/passwd", "7; touch x"} {
		r.script("prolog.sh", job)
		r.script("epilog.sh", job)
	}
	r.script("epilog.sh", "99") // never began
	r.env = append(r.env, "BANDMATE=/nonexistent/bandmate")
	r.script("prolog.sh", "7")
	r.env = append(r.env, "BANDMATE_SOURCE=probe")
	r.script("prolog.sh", "7")
	if left, _ := filepath.Glob(r.folder + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
