package advise

import (
	"context"
	"sync"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
)

// Bounds of reading a cluster's profiles.
const (
	clusterInterval = 2 * time.Second
	clusterPatience = 15 * time.Second
)

// serveFrom returns where profiles are read, and the name of the place.
func serveFrom(a *cli.App, from clusterSource) (*liveProfiles, string, error) {
	if !from.cluster {
		folder, err := a.OpenStore()
		if err != nil {
			return nil, "", err
		}
		read := func(_ context.Context, previous *store.Snapshot) (*store.Snapshot, error) {
			return folder.Snapshot(previous)
		}
		return &liveProfiles{read: read}, folder.Dir(), nil
	}
	cluster, err := from.Store()
	if err != nil {
		return nil, "", err
	}
	read := func(ctx context.Context, previous *store.Snapshot) (*store.Snapshot, error) {
		// The client may go away while others wait for the answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterPatience)
		defer cancel()
		applications, broken, err := cluster.Applications(ctx)
		if err != nil {
			return nil, err
		}
		machines, more, err := cluster.Machines(ctx)
		if err != nil {
			return nil, err
		}
		return store.NewSnapshot(previous, applications, machines, append(broken, more...)), nil
	}
	return &liveProfiles{read: read, interval: clusterInterval}, "the cluster", nil
}

// liveProfiles are profiles that may change while they are asked about. It is safe
// for concurrent use.
type liveProfiles struct {
	read func(ctx context.Context, previous *store.Snapshot) (*store.Snapshot, error)
	// interval is how long a result is used before profiles are read again.
	interval time.Duration

	mu           sync.Mutex
	began, ended time.Time // of the last reading
	snapshot     *store.Snapshot
	known        *advisor.Advisor
	err          error
}

// Now implements server.Source. All requests that wait for a reading share its result.
func (l *liveProfiles) Now(ctx context.Context) (*advisor.Advisor, error) {
	asked := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(asked) || !l.ended.IsZero() && time.Since(l.ended) < l.interval {
		return l.answer()
	}
	l.began = time.Now()
	l.err = l.update(ctx)
	l.ended = time.Now()
	return l.answer()
}

func (l *liveProfiles) answer() (*advisor.Advisor, error) {
	if l.err != nil {
		return nil, l.err
	}
	return l.known, nil
}

func (l *liveProfiles) update(ctx context.Context) error {
	snapshot, err := l.read(ctx, l.snapshot)
	if err != nil {
		return err
	}
	if l.known != nil && snapshot == l.snapshot {
		return nil
	}
	old := l.known
	if old == nil {
		old = &advisor.Advisor{}
	}
	known, err := cli.NextAdvisor(old, snapshot)
	if err != nil {
		return err
	}
	l.snapshot, l.known = snapshot, known
	return nil
}
