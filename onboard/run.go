package onboard

import (
	"context"
	"errors"

	"k8s.io/utils/cpuset"
)

// RunCommand runs a command once on the given CPUs and memory node, with no
// interferer on the machine, and returns when it has ended. No CPUs mean all
// that this process may use; no node leaves memory unbound.
func RunCommand(ctx context.Context, c Command, cpus cpuset.CPUSet, node *int) error {
	l, err := newLauncher()
	if err != nil {
		return err
	}
	_, err = l.run(ctx, c, cpus, node)
	return errors.Join(err, l.close())
}
