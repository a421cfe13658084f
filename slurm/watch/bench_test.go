package watch

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/slurm"
)

// busyCluster has nodes of 64 CPUs with some eight residents each, and a long
// queue, of 24 applications.
func busyCluster(nodes, waiting int) (*fake, *advisor.Advisor) {
	random := rand.New(rand.NewPCG(1, 2))
	var profiles []*v1alpha1.ApplicationProfile
	for i := range 24 {
		profiles = append(profiles, profile(fmt.Sprintf("app%d", i), 0.2+8*random.Float64(), 0.4*random.Float64()))
	}
	f := newFake(nodes)
	id := int64(0)
	for i := range f.cluster.Nodes {
		f.cluster.Nodes[i].CPUs = 64
		for range 6 + random.IntN(5) {
			id++
			f.run(id, profiles[random.IntN(24)].Name, f.cluster.Nodes[i].Name).CPUs = 1 << random.IntN(4)
		}
	}
	for range waiting {
		id++
		f.submit(id, profiles[random.IntN(24)].Name, func(j *slurm.Job) { j.CPUs = 1 << random.IntN(4) })
	}
	return f, advisor.New(profiles, nil)
}

// BenchmarkLaterRound is a round in which nothing has happened since the last.
func BenchmarkLaterRound(b *testing.B) {
	f, known := busyCluster(100, 1000)
	w := &Watcher{
		Options: Options{Mode: Enforce, Folder: b.TempDir(), Out: io.Discard, Interval: 10 * time.Second, MostChanges: 10000},
		Runner:  f, Read: f.read,
		Planner: func() (Planner, error) { return Planner{Site: &slurm.Site{}, Advisor: known, Limit: 1.15}, nil },
	}
	w.Table = w.Folder + "/advice.table"
	release, err := w.open()
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	for range 3 {
		if err := w.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	changed := 0
	for b.Loop() {
		if err := w.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
		changed += w.status.Round.Changed
	}
	b.ReportMetric(float64(changed)/float64(b.N), "changed")
}

// BenchmarkRound is the first round after 1,000 jobs came to 100 nodes, when
// most is to be decided and changed, without the time that Slurm takes.
func BenchmarkRound(b *testing.B) {
	f, known := busyCluster(100, 1000)
	changed := 0
	for b.Loop() {
		b.StopTimer()
		for i := range f.cluster.Jobs {
			f.cluster.Jobs[i].Excluded = nil
		}
		w := &Watcher{
			Options: Options{Mode: Enforce, Folder: b.TempDir(), Out: io.Discard, Interval: 10 * time.Second, MostChanges: 10000},
			Runner:  f, Read: f.read,
			Planner: func() (Planner, error) { return Planner{Site: &slurm.Site{}, Advisor: known, Limit: 1.15}, nil },
		}
		w.Table = w.Folder + "/advice.table"
		release, err := w.open()
		if err != nil {
			b.Fatal(err)
		}
		f.calls = nil
		b.StartTimer()
		if err := w.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		release()
		changed = w.status.Round.Changed
		b.StartTimer()
	}
	b.ReportMetric(float64(changed), "changed")
	b.ReportMetric(float64(len(f.calls)), "scontrol")
}

// BenchmarkReservedRound decides about 1,000 jobs while one reservation to come holds
// all of 1,000 nodes.
func BenchmarkReservedRound(b *testing.B) {
	f, known := busyCluster(1000, 1000)
	f.cluster.Time = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	all := slurm.Reservation{Name: "maintenance", Start: f.cluster.Time.Add(24 * time.Hour), End: f.cluster.Time.Add(48 * time.Hour)}
	for i := range f.cluster.Nodes {
		all.Nodes = append(all.Nodes, f.cluster.Nodes[i].Name)
	}
	f.cluster.Reservations = []slurm.Reservation{all}
	planner := Planner{Site: &slurm.Site{}, Advisor: known, Limit: 1.15}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := planner.Plan(&f.cluster, Memory{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoundMemory reports the most memory that a round over a long queue takes at
// a time, for each job.
func BenchmarkRoundMemory(b *testing.B) {
	const jobs = 1000
	f, known := busyCluster(400, jobs)
	planner := Planner{Site: &slurm.Site{}, Advisor: known, Limit: 1.15}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	most := uint64(0)
	for b.Loop() {
		runtime.GC()
		before := heap()
		ended, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			for tick := time.Tick(10 * time.Millisecond); ; {
				select {
				case <-ended:
					return
				case <-tick:
					most = max(most, heap()-min(before, heap()))
				}
			}
		}()
		_, err := planner.Plan(&f.cluster, Memory{})
		close(ended)
		<-watched
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(most)/jobs, "most-B/job")
}
