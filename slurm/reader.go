package slurm

import (
	"context"
	"time"
)

// Reader reads a cluster. Runner must be set.
type Reader struct {
	Runner Runner
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Read asks squeue once and sinfo once and returns what they saw. It fails when
// either cannot be run or understood; what is odd but does not matter becomes a
// warning of the Cluster.
func (r Reader) Read(ctx context.Context) (*Cluster, error) {
	return nil, nil
}
