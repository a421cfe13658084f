package slurm

import (
	"context"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/pair"
)

// refusing is a Runner that fails one call.
type refusing struct {
	calls []string
	// at is the number of that call, fail what happens then.
	at   int
	fail func() error
}

func (r *refusing) Run(ctx context.Context, _ string, args ...string) ([]byte, error) {
	r.calls = append(r.calls, strings.Join(args[1:], " "))
	if len(r.calls) == r.at {
		return nil, r.fail()
	}
	return nil, ctx.Err()
}

// What is known of a pair that could not be sent is given back, also after an interrupt.
func TestApplyPairs(t *testing.T) {
	plan := &pair.Plan{Pairs: []pair.Pair{
		{Jobs: [2]pair.Job{{ID: "1"}, {ID: "2"}}, Nodes: []string{"n1"}},
		{Jobs: [2]pair.Job{{ID: "3"}, {ID: "4"}}, Nodes: []string{"n2"}},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	unanswered := func() error { return slurm.ErrTimeout }
	for _, test := range []struct {
		name string
		at   int
		fail func() error
		want []string
	}{
		{"the first is refused", 1, func() error { return &slurm.CommandError{} }, []string{
			"JobId=1 ReqNodeList=n1", "JobId=3 ReqNodeList=n2", "JobId=4 ReqNodeList=n2",
		}},
		{"the second is refused", 2, func() error { return &slurm.CommandError{} }, []string{
			"JobId=1 ReqNodeList=n1", "JobId=2 ReqNodeList=n1", "JobId=1 ReqNodeList=", "JobId=3 ReqNodeList=n2", "JobId=4 ReqNodeList=n2",
		}},
		{"no answer to the first", 1, unanswered, []string{"JobId=1 ReqNodeList=n1", "JobId=1 ReqNodeList="}},
		{"no answer to the second", 2, unanswered, []string{
			"JobId=1 ReqNodeList=n1", "JobId=2 ReqNodeList=n1", "JobId=1 ReqNodeList=", "JobId=2 ReqNodeList=",
		}},
		{"interrupted", 2, func() error { cancel(); return ctx.Err() }, []string{
			"JobId=1 ReqNodeList=n1", "JobId=2 ReqNodeList=n1", "JobId=1 ReqNodeList=", "JobId=2 ReqNodeList=",
		}},
	} {
		runner := &refusing{at: test.at, fail: test.fail}
		err := applyPairs(ctx, runner, plan)
		if err == nil || strings.Contains(err.Error(), "giving back") || !slices.Equal(runner.calls, test.want) {
			t.Errorf("%s: %v, calls %q; want a single error, and %q", test.name, err, runner.calls, test.want)
		}
	}
}
