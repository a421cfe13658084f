package schedplugin

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/schedplugin/config"
)

// The plugin's answer to every situation of the table: what Filter refuses is
// what goes beyond a limit, and the order of the rest is the score's.
func TestSituations(t *testing.T) {
	all := table(t)
	known := all.Advisor()
	for _, s := range all.Situations {
		t.Run(s.Name, func(t *testing.T) {
			p, h := plugin(t, known, func(a *config.BandmateArgs) { arguments(t, a, &s) })
			var names []string
			for _, d := range s.Domains {
				placeNode(t, h, &d)
				names = append(names, d.Name)
			}
			limit := ""
			if s.Newcomer.Limit > 0 {
				limit = fmt.Sprint(float64(s.Newcomer.Limit))
			}
			newcomer := pod("newcomer", s.Newcomer.Application, s.Newcomer.CPUs, limit)
			p.pods.handler().OnAdd(newcomer, false)
			for _, n := range h.nodes {
				for _, r := range n.pods {
					p.pods.handler().OnAdd(r.GetPod(), false)
				}
			}
			o := schedule(t, p, h, newcomer, names)
			c := cycleOf(o.state)
			got := scoresOf(t, c, h, names, o)
			if diff := s.Check(got); diff != "" {
				t.Error(diff)
			}
			for i := 1; i < len(s.Want); i++ {
				better, worse := s.Want[i-1], s.Want[i]
				if o.scores[worse.Domain] > o.scores[better.Domain] {
					t.Errorf("%s scores %d, the better %s %d", worse.Domain, o.scores[worse.Domain], better.Domain, o.scores[better.Domain])
				}
			}
		})
	}
}

func arguments(t *testing.T, a *config.BandmateArgs, s *scoretest.Situation) {
	t.Helper()
	if s.Objective != "" {
		a.Objective = s.Objective
	}
	if s.Unknown != "" {
		a.UnknownApplications = s.Unknown
	}
	if s.Assumed != nil {
		traffic, err := s.Assumed.Units()
		if err != nil {
			t.Fatal(err)
		}
		share, _ := traffic.ReadShare()
		a.AssumedBandwidth, a.AssumedReadShare = traffic.Total(), share
	}
}

// nodeOf makes the node of a domain with its residents.
func nodeOf(h *fakeHandle, d *scoretest.Domain) *fakeNode {
	n := h.node(d.Name, d.Machine)
	for _, r := range d.Residents {
		limit := ""
		if r.Limit > 0 {
			limit = fmt.Sprint(float64(r.Limit))
		}
		n.add(runs(pod(r.Application, r.Application, r.CPUs, limit), noon.Add(-time.Hour)))
	}
	return n
}

func placeNode(t *testing.T, h *fakeHandle, d *scoretest.Domain) {
	t.Helper()
	n := nodeOf(h, d)
	if d.Measured == nil {
		return
	}
	traffic, err := d.Measured.Units()
	if err != nil {
		t.Fatal(err)
	}
	n.node.Annotations[v1alpha1.MeasuredTrafficAnnotation] = fmt.Sprintf(
		`{"readBytesPerSecond":%.0f,"writeBytesPerSecond":%.0f,"time":%q}`,
		float64(traffic.Read), float64(traffic.Write), noon.Format(time.RFC3339))
}

// scoresOf returns what was scored, and what Filter had refused, in the score's
// order.
func scoresOf(t *testing.T, c *cycle, h *fakeHandle, names []string, o outcome) []score.Score {
	t.Helper()
	var got []score.Score
	for _, name := range names {
		slot, node := c.stateOf(h.nodes[name])
		domain, err := c.domain(slot, node)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.score(domain, name, node.node.Machine)
		if err != nil {
			t.Fatal(err)
		}
		if _, refused := o.rejected[name]; refused != (s.OverLimit > 0) {
			t.Errorf("%s: refused %v (%s), %d over the limit", name, refused, o.rejected[name], s.OverLimit)
		}
		got = append(got, *s)
	}
	slices.SortStableFunc(got, score.Compare)
	return got
}
