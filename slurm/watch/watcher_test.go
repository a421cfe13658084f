package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/slurm"
)

// watching returns a watcher of a fake cluster, ready for rounds.
func watching(t *testing.T, f *fake, mode Mode) (*Watcher, *bytes.Buffer) {
	t.Helper()
	w, log := watcherIn(t, t.TempDir(), f, mode)
	reopen(t, w)
	return w, log
}

func watcherIn(tb testing.TB, folder string, f *fake, mode Mode) (*Watcher, *bytes.Buffer) {
	tb.Helper()
	p := planner(tb)
	log := &bytes.Buffer{}
	return &Watcher{
		Options: Options{Mode: mode, Folder: folder, Out: log, Interval: 10 * time.Second, MostChanges: 100},
		Runner:  f, Read: f.read, Planner: func() (Planner, error) { return p, nil },
	}, log
}

// reopen is what a start does; the one before ended as by kill -9.
func reopen(t *testing.T, w *Watcher) {
	t.Helper()
	release, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
}

// A decision log that cannot be written is an error of --once, and of the status.
func TestDecisionLogCannotBeWritten(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, _ := watcherIn(t, t.TempDir(), f, Enforce)
	w.Log = filepath.Join(t.TempDir(), "none", "log")
	if err := w.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "decision log") {
		t.Errorf("%v, want that the decision log cannot be written", err)
	}
	wantExcluded(t, f, 10, "n01")
	status, err := ReadStatus(w.Folder)
	if err != nil || !strings.Contains(status.Error, "decision log") {
		t.Errorf("the status says %q, %v", status.Error, err)
	}
}

// crash ends a watcher without its noticing, and returns the next one.
func crash(t *testing.T, w *Watcher, f *fake) *Watcher {
	t.Helper()
	next, _ := watcherIn(t, w.Folder, f, w.Mode)
	var err error
	if next.state, err = loadState(w.Folder); err != nil {
		t.Fatal(err)
	}
	next.journal = journal{out: next.Out}
	return next
}

func once(t *testing.T, w *Watcher) *Round {
	t.Helper()
	if err := w.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.status.Round
}

func records(t *testing.T, log *bytes.Buffer) []Record {
	t.Helper()
	var records []Record
	for line := range bytes.Lines(log.Bytes()) {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

func actions(t *testing.T, log *bytes.Buffer, job string) string {
	t.Helper()
	var actions []string
	for _, r := range records(t, log) {
		if r.Job == job {
			actions = append(actions, string(r.Action))
		}
	}
	return strings.Join(actions, " ")
}

func wantExcluded(t *testing.T, f *fake, id int64, want string) {
	t.Helper()
	if got := f.excluded(id); got != want {
		t.Errorf("job %d: excluded nodes %q, want %q", id, got, want)
	}
}

func TestEnforce(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy", excluding("n03"))
	w, log := watching(t, f, Enforce)
	once(t, w)
	wantExcluded(t, f, 10, "n[01,03]")
	if got := once(t, w); got.Changed != 0 || got.KeptOff != 1 {
		t.Errorf("a round without news: %+v, want no change and one job kept off", got)
	}
	f.end(1)
	if got := once(t, w); got.Released != 1 {
		t.Errorf("after the resident's end: %+v, want one released", got)
	}
	wantExcluded(t, f, 10, "n03")
	if got, want := actions(t, log, "10"), "exclude release"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
	for _, r := range records(t, log) {
		if r.Reason == "" || !r.Done || r.Time.IsZero() || r.Cluster != "test" {
			t.Errorf("record %+v lacks reason, time or cluster, or was not done", r)
		}
	}
	if len(f.calls) != 2 {
		t.Errorf("scontrol ran %d times, want 2: %q", len(f.calls), f.calls)
	}
}

func TestObserveAndAdviseExcludeNothing(t *testing.T) {
	for _, mode := range []Mode{Observe, Advise} {
		f := newFake(3)
		f.run(1, "tender", "n01")
		f.submit(10, "heavy", excluding("n03"))
		f.submit(11, "heavy", excluding("n02")).AdminComment = "the operator's"
		f.submit(12, "heavy", excluding("n02"), func(j *slurm.Job) { j.Reason, j.AdminCommentUntold = "JobHeldUser", true })
		w, log := watching(t, f, mode)
		once(t, w)
		once(t, w)
		wantExcluded(t, f, 10, "n03")
		if got := actions(t, log, "10"); got != "exclude" {
			t.Errorf("%s: the log says %q, want exclude once", mode, got)
		}
		remark, want := f.job(10).AdminComment, ""
		if mode == Advise {
			want = "bandmate: better not on n"
		}
		if !strings.HasPrefix(remark, want) || (want == "") != (remark == "") {
			t.Errorf("%s: AdminComment %q, want %q", mode, remark, want)
		}
		if got := f.job(11).AdminComment; got != "the operator's" {
			t.Errorf("%s: somebody else's AdminComment became %q", mode, got)
		}
		if got := f.job(12).AdminComment; got != "" || !slices.Contains(w.status.Round.Warnings, noRemarks) {
			t.Errorf("%s: an unknown AdminComment became %q, warnings %q", mode, got, w.status.Round.Warnings)
		}
		if _, err := w.takeBack(t.Context(), true); err != nil || f.job(10).AdminComment != "" {
			t.Errorf("%s: %v; the remark %q stays", mode, err, f.job(10).AdminComment)
		}
	}
}

func TestSomebodyElsesChangeIsLeftAlone(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, log := watching(t, f, Enforce)
	once(t, w)
	f.job(10).Excluded = expand("n[01-02]")
	once(t, w)
	f.end(1)
	once(t, w)
	if left, err := w.takeBack(t.Context(), true); left != 0 || err != nil {
		t.Fatalf("%d left, %v", left, err)
	}
	wantExcluded(t, f, 10, "n[01-02]")
	if got, want := actions(t, log, "10"), "exclude left-alone skip"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// A user's change before anything was set is simply the user's.
func TestUsersChangeBeforeOurs(t *testing.T) {
	f := newFake(3)
	f.submit(10, "heavy")
	w, _ := watching(t, f, Enforce)
	once(t, w)
	f.job(10).Excluded = expand("n02")
	f.run(1, "tender", "n01")
	once(t, w)
	wantExcluded(t, f, 10, "n[01-02]")
	f.end(1)
	once(t, w)
	wantExcluded(t, f, 10, "n02")
}

// Killed before, in the middle of, or after the change: the next watch knows
// what is its own.
func TestKilledInTheMiddle(t *testing.T) {
	for _, made := range []bool{false, true} {
		f := newFake(3)
		f.run(1, "tender", "n01")
		f.submit(10, "heavy", excluding("n03"))
		w, _ := watching(t, f, Enforce)
		killed := errors.New("killed")
		f.refuse = func([]string) (error, bool) {
			saved, err := loadState(w.Folder)
			if err != nil {
				t.Fatal(err)
			}
			if e := saved.Jobs[10]; e.Intended == nil || *e.Intended != "n[01,03]" || e.Original != "n03" {
				t.Errorf("while scontrol runs, the state file says %+v", e)
			}
			return killed, made
		}
		// What the first watch learns from here on is lost.
		data := saving(t, w, f)
		f.refuse = nil
		if err := os.WriteFile(filepath.Join(w.Folder, stateName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		next := crash(t, w, f)
		f.end(1)
		for range 5 {
			once(t, next)
		}
		wantExcluded(t, f, 10, "n03")
		if e := next.state.Jobs[10]; e.LeftAlone != "" {
			t.Errorf("made %v: its own change was taken for somebody else's: %+v", made, e)
		}
	}
}

// saving runs a round and returns the state file as it was while scontrol ran.
func saving(t *testing.T, w *Watcher, f *fake) []byte {
	t.Helper()
	var data []byte
	inner := f.refuse
	f.refuse = func(arguments []string) (error, bool) {
		var err error
		if data, err = os.ReadFile(filepath.Join(w.Folder, stateName)); err != nil {
			t.Fatal(err)
		}
		return inner(arguments)
	}
	_ = w.Round(t.Context())
	if data == nil {
		t.Fatal("scontrol was not run")
	}
	return data
}

func TestSlurmctldAway(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, log := watching(t, f, Enforce)
	f.away = fmt.Errorf("squeue: %w", slurm.ErrUnreachable)
	var pauses []time.Duration
	for range 8 {
		if err := w.Round(t.Context()); !errors.Is(err, slurm.ErrUnreachable) {
			t.Fatalf("round: %v, want %v", err, slurm.ErrUnreachable)
		}
		pauses = append(pauses, w.pause())
	}
	if !slices.IsSorted(pauses) || pauses[0] <= w.Interval || pauses[7] != longestPause {
		t.Errorf("pauses %v, want growing ones up to %v", pauses, longestPause)
	}
	s, err := ReadStatus(w.Folder)
	if err != nil || s.FailedRounds != 8 || !strings.Contains(s.Error, "slurmctld cannot be reached") {
		t.Errorf("status %+v, %v", s, err)
	}
	f.away = nil
	f.refuse = func([]string) (error, bool) { return slurm.ErrTimeout, true }
	if err := w.Round(t.Context()); !errors.Is(err, slurm.ErrTimeout) {
		t.Fatalf("round: %v, want %v", err, slurm.ErrTimeout)
	}
	f.refuse = nil
	once(t, w)
	if w.pause() != w.Interval {
		t.Errorf("pause %v after a good round, want %v", w.pause(), w.Interval)
	}
	if e := w.state.Jobs[10]; e.Set != "n01" || e.LeftAlone != "" {
		t.Errorf("what slurmctld did without answering is remembered as %+v", e)
	}
	if got, want := actions(t, log, ""), "failed failed recovered"; got != want {
		t.Errorf("the log says %q of the watch, want %q", got, want)
	}
}

// An error instead of jobs does not mean that the jobs are gone.
func TestErrorInsteadOfJobs(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, _ := watching(t, f, Enforce)
	once(t, w)
	file := filepath.Join(t.TempDir(), "jobs.json")
	if err := os.WriteFile(file, []byte(`{"errors":[{"error":"Unable to contact slurm controller"}],"jobs":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Read = slurm.Reader{Runner: f, JobsFile: file}.Read
	if err := w.Round(t.Context()); !errors.Is(err, slurm.ErrUnreachable) {
		t.Fatalf("round: %v, want %v", err, slurm.ErrUnreachable)
	}
	w.Read = f.read
	f.end(1)
	once(t, w)
	wantExcluded(t, f, 10, "")
}

// While slurmctld does not answer, the status says what stands, also that of a watch
// that began meanwhile.
func TestStatusWhileAway(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, _ := watching(t, f, Enforce)
	once(t, w)
	f.away = fmt.Errorf("squeue: %w", slurm.ErrUnreachable)
	for _, w := range []*Watcher{w, crash(t, w, f)} {
		if w.status.Good == nil {
			// What open does: the folder is still locked by the first.
			before, err := ReadStatus(w.Folder)
			if err != nil {
				t.Fatal(err)
			}
			w.status.Good = before.Good
		}
		if err := w.Round(t.Context()); !errors.Is(err, slurm.ErrUnreachable) {
			t.Fatalf("round: %v, want %v", err, slurm.ErrUnreachable)
		}
		s, err := ReadStatus(w.Folder)
		if err != nil || s.KeptOff != 1 || s.Good == nil || s.Good.Changed != 1 || s.Fine() {
			t.Errorf("status %+v, last good round %+v, %v; want 1 kept off as by the first round, and not fine", s, s.Good, err)
		}
	}
}

// A job that cannot be changed hinders no other, and is tried again ever rarer.
func TestRefusedChange(t *testing.T) {
	f := newFake(3)
	f.run(1, "heavy", "n01")
	f.submit(10, "tender", excluding("n03"))
	f.submit(11, "tender", excluding("n03"))
	denied := &slurm.CommandError{Name: "scontrol", ExitCode: 1, Stderr: "Access/permission denied"}
	f.refuse = func(arguments []string) (error, bool) {
		if strings.Contains(arguments[1], "10") {
			return denied, false
		}
		return nil, false
	}
	w, log := watching(t, f, Enforce)
	if got := once(t, w); got.Failed != 1 || got.Changed != 1 {
		t.Errorf("%+v, want one failed and one changed", got)
	}
	wantExcluded(t, f, 10, "n03")
	wantExcluded(t, f, 11, "n[01,03]")
	for range 20 {
		once(t, w)
	}
	tries := 0
	for _, call := range f.calls {
		if strings.Contains(call[1], "10") {
			tries++
		}
	}
	if tries < 3 || tries > 8 {
		t.Errorf("tried %d times in 21 rounds, want a few", tries)
	}
	if !slices.ContainsFunc(records(t, log), func(r Record) bool {
		return r.Job == "10" && !r.Done && strings.Contains(r.Error, "permission denied")
	}) {
		t.Errorf("the log does not say why job 10 is not changed:\n%s", log)
	}
}

// A call that was refused for one job of a group may have changed the others, whatever
// became of trying them alone.
func TestRefusedGroupThenNoAnswer(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	for id := range int64(3) {
		f.submit(10+id, "heavy", excluding("n03"), func(j *slurm.Job) { j.Reason = "JobHeldUser" })
	}
	f.refuse = func(arguments []string) (error, bool) {
		if strings.Contains(arguments[1], ",") {
			return &slurm.CommandError{Name: "scontrol", ExitCode: 1, Stderr: "Job/step already completing or completed"}, true
		}
		return slurm.ErrTimeout, false
	}
	w, _ := watching(t, f, Enforce)
	if err := w.Round(t.Context()); !errors.Is(err, slurm.ErrTimeout) {
		t.Fatalf("round: %v, want %v", err, slurm.ErrTimeout)
	}
	f.refuse = nil
	once(t, w)
	if left, err := w.takeBack(t.Context(), true); left != 0 || err != nil {
		t.Fatalf("%d left, %v", left, err)
	}
	for id := range int64(3) {
		wantExcluded(t, f, 10+id, "n03")
	}
}

func TestUnsatisfiable(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, log := watching(t, f, Enforce)
	once(t, w)
	f.job(10).Reason = "BadConstraints"
	once(t, w)
	wantExcluded(t, f, 10, "")
	f.job(10).Reason = "Priority"
	once(t, w)
	wantExcluded(t, f, 10, "")
	if got, want := actions(t, log, "10"), "exclude given-up release skip"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// wantKeptOff checks that two rounds exclude n01 for job 10, and do not give that up.
func wantKeptOff(t *testing.T, f *fake, logged string) {
	t.Helper()
	w, log := watching(t, f, Enforce)
	for range 2 {
		once(t, w)
		wantExcluded(t, f, 10, "n01")
	}
	if got, want := actions(t, log, logged), "exclude"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// A job whose reservation has not begun waits for it, and not for nodes.
func TestReservationToCome(t *testing.T) {
	f := newFake(3)
	f.cluster.Time = time.Unix(1e9, 0)
	f.cluster.Reservations = []slurm.Reservation{{
		Name: "class", Nodes: expand("n[01-02]"), Start: f.cluster.Time.Add(time.Hour), End: f.cluster.Time.Add(3 * time.Hour),
	}}
	f.run(1, "tender", "n01")
	f.submit(10, "heavy", func(j *slurm.Job) {
		j.Reservation, j.Reason, j.TimeLimit = "class", "Reservation", time.Hour
	})
	wantKeptOff(t, f, "10")
}

// The components of a heterogeneous job wait for each other.
func TestComponentWaitsForOthers(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy", func(j *slurm.Job) { j.HetID, j.Reason = 10, "Resources" })
	wantKeptOff(t, f, "10+0")
}

func TestOffSwitch(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy", excluding("n03"))
	w, log := watching(t, f, Enforce)
	w.Table = filepath.Join(t.TempDir(), "advice.table")
	once(t, w)
	if _, err := os.Stat(w.Table); err != nil {
		t.Fatal(err)
	}
	if err := SwitchOff(w.Folder); err != nil {
		t.Fatal(err)
	}
	once(t, w)
	wantExcluded(t, f, 10, "n03")
	if _, err := os.Stat(w.Table); !os.IsNotExist(err) {
		t.Errorf("the table stays: %v", err)
	}
	if s, err := ReadStatus(w.Folder); err != nil || !s.SwitchedOff || !s.Running {
		t.Errorf("status %+v, %v; want running and switched off", s, err)
	}
	if err := SwitchOn(w.Folder); err != nil {
		t.Fatal(err)
	}
	once(t, w)
	wantExcluded(t, f, 10, "n[01,03]")
	if got, want := actions(t, log, ""), "off on"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// Rounds that are made one by one count failures, and log the off switch, like those of
// one process.
func TestOnceGoesOnFromTheLast(t *testing.T) {
	f := newFake(1)
	w, log := watcherIn(t, t.TempDir(), f, Enforce)
	f.away = fmt.Errorf("squeue: %w", slurm.ErrUnreachable)
	for want := 1; want <= 2; want++ {
		if err := w.Once(t.Context()); !errors.Is(err, slurm.ErrUnreachable) {
			t.Fatalf("round: %v, want %v", err, slurm.ErrUnreachable)
		}
		if s, err := ReadStatus(w.Folder); err != nil || s.FailedRounds != want {
			t.Errorf("status %+v, %v; want %d failed rounds", s, err, want)
		}
	}
	f.away = nil
	if err := SwitchOff(w.Folder); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := actions(t, log, ""), "failed off recovered"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// A table that cannot be removed keeps no job off its nodes.
func TestTakeBackDespiteTheTable(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, _ := watching(t, f, Enforce)
	once(t, w)
	w.Table = filepath.Dir(w.Folder)
	if left, err := w.takeBack(t.Context(), true); left != 0 || err == nil || !strings.Contains(err.Error(), "table for job_submit.lua") {
		t.Errorf("%d left, %v; want none left, and why the table stays", left, err)
	}
	wantExcluded(t, f, 10, "")
}

// While slurmctld is away, the jobs that keep something are those for which something is set.
func TestTakeBackWhileAway(t *testing.T) {
	for mode, want := range map[Mode]int{Observe: 0, Enforce: 1} {
		f := newFake(3)
		f.run(1, "tender", "n01")
		f.submit(10, "heavy")
		f.submit(11, "light")
		w, _ := watching(t, f, mode)
		once(t, w)
		f.away = fmt.Errorf("squeue: %w", slurm.ErrUnreachable)
		if left, err := w.takeBack(t.Context(), true); left != want || !errors.Is(err, slurm.ErrUnreachable) {
			t.Errorf("%s: %d left, %v; want %d, %v", mode, left, err, want, slurm.ErrUnreachable)
		}
	}
}

func TestTwoWatchers(t *testing.T) {
	f := newFake(1)
	w, _ := watching(t, f, Enforce)
	second, _ := watcherIn(t, w.Folder, f, Observe)
	if err := second.Run(t.Context()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("the second watch: %v, want %v with the first one's process", err, ErrLocked)
	}
}

// Who asks for the status at that moment does not stop a round.
func TestLockDuringStatus(t *testing.T) {
	name := filepath.Join(t.TempDir(), lockName)
	asking, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(asking.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pauses := 0
	if err := lockPatiently(file, func() { pauses++; asking.Close() }); err != nil || pauses != 1 {
		t.Errorf("%v after %d pauses, want the lock after one", err, pauses)
	}
}

func TestRunTakesBack(t *testing.T) {
	for _, leave := range []bool{false, true} {
		f := newFake(3)
		f.run(1, "tender", "n01")
		f.submit(10, "heavy")
		w, _ := watcherIn(t, t.TempDir(), f, Enforce)
		w.Leave = leave
		ctx, cancel := context.WithCancel(t.Context())
		read := w.Read
		w.Read = func(ctx context.Context) (*slurm.Cluster, error) {
			if f.excluded(10) != "" {
				cancel()
			}
			return read(ctx)
		}
		w.Interval = time.Second
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := ""
		if leave {
			want = "n01"
		}
		wantExcluded(t, f, 10, want)
		if !leave {
			wantNoneKeptOff(t, w.Folder)
			continue
		}
		again, _ := watcherIn(t, w.Folder, f, Observe)
		if err := again.TakeBack(t.Context()); err != nil {
			t.Error(err)
		}
		wantExcluded(t, f, 10, "")
		wantNoneKeptOff(t, w.Folder)
	}
}

func wantNoneKeptOff(t *testing.T, folder string) {
	t.Helper()
	if s, err := ReadStatus(folder); err != nil || s.KeptOff != 0 || s.Round == nil {
		t.Errorf("status %+v, %v; want the last round, and no job kept off nodes", s, err)
	}
}

// While the state cannot be saved nothing is set, and the watch goes on; what was set is
// taken back all the same.
func TestDiskFull(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, log := watcherIn(t, t.TempDir(), f, Enforce)
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(w.Folder, stateName)
	full := func() {
		if err := errors.Join(os.RemoveAll(file), os.MkdirAll(filepath.Join(file, "in the way"), 0o750)); err != nil {
			t.Error(err)
		}
	}
	read := w.Read
	rounds := 0
	w.Read = func(ctx context.Context) (*slurm.Cluster, error) {
		switch rounds++; rounds {
		case 1:
			full()
		case 2:
			wantExcluded(t, f, 10, "")
			if err := os.RemoveAll(file); err != nil {
				t.Error(err)
			}
		case 3:
			wantExcluded(t, f, 10, "n01")
			full()
			cancel()
		}
		return read(ctx)
	}
	w.Interval = time.Second
	if err := w.Run(ctx); err == nil || !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v, want what could not be written\n%s", err, log)
	}
	if rounds < 3 {
		t.Errorf("it ended in round %d", rounds)
	}
	wantExcluded(t, f, 10, "")
}

// A mode that sets nothing takes back what an enforcing watch left.
func TestObserveTakesBack(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, _ := watching(t, f, Enforce)
	once(t, w)
	wantExcluded(t, f, 10, "n01")
	next := crash(t, w, f)
	next.Mode = Observe
	once(t, next)
	wantExcluded(t, f, 10, "")
	said := records(t, next.Out.(*bytes.Buffer))
	if last := said[len(said)-1]; last.Action != Release || !last.Done || last.Excluded != "" || last.Reason != "the watch no longer enforces" {
		t.Errorf("the log says %+v, want a release", last)
	}
}

// A watch that cannot take back what it set fails, and so does a later attempt.
func TestRunFailsWhereSomethingStays(t *testing.T) {
	f := newFake(3)
	w, err := runUntilExcluded(t, f, func([]string) (error, bool) {
		return &slurm.CommandError{Name: "scontrol", ExitCode: 1}, false
	})
	if err == nil || !strings.Contains(err.Error(), "what was set stays with 1 job") {
		t.Errorf("%v, want that something stays", err)
	}
	if err := w.TakeBack(t.Context()); err == nil || !strings.Contains(err.Error(), "what was set stays with 1 job") {
		t.Errorf("taking back: %v, want that something stays", err)
	}
	wantExcluded(t, f, 10, "n01")
}

// A job may start before the watch has taken back what it set. Nothing stays then.
func TestRunEndsWhileAJobStarts(t *testing.T) {
	f := newFake(3)
	_, err := runUntilExcluded(t, f, func([]string) (error, bool) {
		f.job(10).State = "RUNNING"
		return nil, false
	})
	if err != nil {
		t.Error(err)
	}
}

// runUntilExcluded runs a watch that excludes a node for job 10 and then ends. From then on
// refuse answers its changes.
func runUntilExcluded(t *testing.T, f *fake, refuse func([]string) (error, bool)) (*Watcher, error) {
	t.Helper()
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	w, _ := watcherIn(t, t.TempDir(), f, Enforce)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := w.Read
	w.Read = func(ctx context.Context) (*slurm.Cluster, error) {
		if f.excluded(10) != "" {
			f.refuse = refuse
			cancel()
		}
		return read(ctx)
	}
	w.Interval = time.Second
	return w, w.Run(ctx)
}

func TestStateThatCannotBeBelieved(t *testing.T) {
	for name, text := range map[string]string{
		"cut":             `{"version":1,"jobs":{"10":{`,
		"another format":  `{"version":7,"jobs":{}}`,
		"another cluster": `{"version":1,"cluster":"other","jobs":{}}`,
		"not a number":    `{"version":1,"jobs":{"ten":{}}}`,
	} {
		f := newFake(2)
		w, _ := watcherIn(t, t.TempDir(), f, Enforce)
		if err := os.WriteFile(filepath.Join(w.Folder, stateName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), w.Folder) {
			t.Errorf("%s: %v, want %v with its place", name, err, ErrState)
		}
		if len(f.calls) > 0 {
			t.Errorf("%s: scontrol was run: %q", name, f.calls)
		}
	}
}

// The clock is only for people: set back or forward by a year, the same is done.
func TestClockChange(t *testing.T) {
	f := newFake(2)
	w, _ := watching(t, f, Enforce)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w.Now = func() time.Time { return now }
	w.Table = filepath.Join(t.TempDir(), "advice.table")
	f.run(1, "tender", "n01")
	f.submit(10, "heavy")
	once(t, w)
	now = now.AddDate(-1, 0, 0)
	f.submit(11, "heavy")
	once(t, w)
	wantExcluded(t, f, 10, "n01")
	now = now.AddDate(2, 0, 0)
	f.end(1)
	f.end(11)
	once(t, w)
	wantExcluded(t, f, 10, "")
	table, err := os.ReadFile(w.Table)
	if err != nil || !bytes.Contains(table, fmt.Appendf(nil, "written %d\n", now.Unix())) {
		t.Errorf("table %q, %v; want it written now", table, err)
	}
}

func TestAdoptsWhatJobSubmitSet(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	f.submit(10, "heavy", excluding("n[01-02]")).AdminComment = "bandmate: exclude=n[01-02]"
	// This user changed the list afterwards: it is the user's now.
	f.submit(11, "light", excluding("n02")).AdminComment = "bandmate: exclude=n[01-02]"
	w, log := watching(t, f, Enforce)
	once(t, w)
	wantExcluded(t, f, 10, "n01")
	wantExcluded(t, f, 11, "n02")
	f.end(1)
	once(t, w)
	wantExcluded(t, f, 10, "")
	if got := f.job(10).AdminComment; got != "" {
		t.Errorf("the remark %q stays", got)
	}
	if got, want := actions(t, log, "10"), "adopted change release"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// What a job had when it started it has when Slurm queues it again, and so have
// the tasks of an array.
func TestQueuedAgain(t *testing.T) {
	f := newFake(3)
	f.run(1, "heavy", "n01")
	f.submit(10, "tender", func(j *slurm.Job) { j.ArrayID, j.PendingTasks = 10, "1-2" })
	f.submit(20, "tender", func(j *slurm.Job) { j.Reason = "Dependency" })
	w, log := watching(t, f, Enforce)
	once(t, w)
	wantExcluded(t, f, 10, "n01")
	wantExcluded(t, f, 20, "n01")
	task := int64(1)
	f.submit(11, "tender", excluding("n01"), func(j *slurm.Job) { j.ArrayID, j.Task = 10, &task; start(j, "n02") })
	f.job(10).PendingTasks = "2"
	start(f.job(20), "n03")
	once(t, w)
	f.job(20).State, f.job(20).Nodes, f.job(20).NodeCount = slurm.Pending, nil, 1
	f.job(11).State, f.job(11).Nodes, f.job(11).NodeCount = slurm.Pending, nil, 1
	f.end(1)
	for range 3 {
		once(t, w)
	}
	if left, err := w.takeBack(t.Context(), true); left != 0 || err != nil {
		t.Fatalf("%d left, %v", left, err)
	}
	for _, id := range []int64{10, 11, 20} {
		wantExcluded(t, f, id, "")
	}
	if got := actions(t, log, "20"); !strings.HasPrefix(got, "exclude started") {
		t.Errorf("the log says %q, want exclude started", got)
	}
}

// What slurmctld refused waits for a later round. When the watch ends there is none.
func TestTakenBackAfterRefusals(t *testing.T) {
	f := newFake(3)
	f.run(1, "heavy", "n01")
	f.submit(10, "tender")
	w, _ := watching(t, f, Enforce)
	once(t, w)
	wantExcluded(t, f, 10, "n01")
	f.end(1)
	f.refuse = func([]string) (error, bool) {
		return &slurm.CommandError{Name: "scontrol", ExitCode: 1, Stderr: "no"}, false
	}
	for range 8 {
		once(t, w)
	}
	f.refuse = nil
	if !w.state.Jobs[10].waits() {
		t.Fatalf("%+v does not wait", w.state.Jobs[10])
	}
	if left, err := w.takeBack(t.Context(), true); left != 0 || err != nil {
		t.Fatalf("%d left, %v", left, err)
	}
	wantExcluded(t, f, 10, "")
}

func TestMostChanges(t *testing.T) {
	f := newFake(3)
	f.run(1, "tender", "n01")
	for id := range int64(10) {
		f.submit(10+id, "heavy", excluding("n03"))
	}
	w, _ := watching(t, f, Enforce)
	w.MostChanges = 4
	if got := once(t, w); got.Changed != 4 || got.Later != 6 {
		t.Errorf("%+v, want 4 changed and 6 later", got)
	}
	once(t, w)
	once(t, w)
	if got := once(t, w); got.KeptOff != 10 || got.Later != 0 {
		t.Errorf("%+v, want 10 kept off and none later", got)
	}
}

// Whatever happens to a queue, and wherever a watch is killed: in the end, when
// everything is taken back, every waiting job excludes what its user excluded.
func TestEverythingIsTakenBack(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		f := randomFake(rt)
		users := make(map[int64]string)
		for i := range f.cluster.Jobs {
			users[f.cluster.Jobs[i].ID] = f.excluded(f.cluster.Jobs[i].ID)
		}
		if err := os.RemoveAll(folder); err != nil {
			rt.Fatal(err)
		}
		fresh := func() *Watcher {
			w, _ := watcherIn(t, folder, f, Enforce)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				rt.Fatal(err)
			}
			var err error
			if w.state, err = loadState(folder); err != nil {
				rt.Fatal(err)
			}
			w.journal = journal{out: w.Out}
			return w
		}
		w := fresh()
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			f.refuse = nil
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0: // someone ends
				if len(f.cluster.Jobs) > 0 {
					f.end(f.cluster.Jobs[rapid.IntRange(0, len(f.cluster.Jobs)-1).Draw(rt, "ends")].ID)
				}
			case 1: // a node goes or comes
				n := &f.cluster.Nodes[rapid.IntRange(0, len(f.cluster.Nodes)-1).Draw(rt, "node")]
				n.State = rapid.SampledFrom([]string{"IDLE", "DOWN"}).Draw(rt, "state")
			case 2: // killed in the middle of the changes
				survive := rapid.IntRange(0, 2).Draw(rt, "calls before the end")
				f.refuse = func([]string) (error, bool) {
					survive--
					return map[bool]error{true: slurm.ErrTimeout}[survive <= 0], survive%2 == 0
				}
				_ = w.Round(context.Background())
				f.refuse = nil
				w = fresh()
			case 3: // slurmctld refuses something
				f.refuse = func([]string) (error, bool) {
					return &slurm.CommandError{Name: "scontrol", ExitCode: 1, Stderr: "no"}, rapid.Bool().Draw(rt, "done all the same")
				}
			}
			if err := w.Round(context.Background()); err != nil {
				rt.Fatal(err)
			}
			for i := range f.cluster.Jobs {
				j := &f.cluster.Jobs[i]
				for _, name := range expand(users[j.ID]) {
					if !slices.Contains(j.Excluded, name) {
						rt.Fatalf("job %s: the user's %s is no longer excluded", j, name)
					}
				}
			}
		}
		f.refuse = nil
		if left, err := w.takeBack(context.Background(), true); left != 0 || err != nil {
			rt.Fatalf("%d left, %v", left, err)
		}
		for i := range f.cluster.Jobs {
			j := &f.cluster.Jobs[i]
			if j.Pending() && f.excluded(j.ID) != users[j.ID] {
				rt.Fatalf("job %s excludes %q in the end, want the user's %q; memory %+v", j, f.excluded(j.ID), users[j.ID], w.state.Jobs[j.ID])
			}
		}
	})
}
