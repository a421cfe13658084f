package e2e

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/hack/cluster/results"
	"bandmate.dev/bandmate/predictor/score/scoretest"
)

// tells is the cost between the best place and the next, for each CPU of the
// newcomer, above which the plugin has to prevail over the scheduler's others.
const tells = 0.05

// Every situation of the table, by real pods on real nodes: the newcomer goes
// where the score wants it, or stays pending where only places beyond a limit
// are left. Where the difference is worth it, the right place is made the one
// that the default scheduler likes least, and that scheduler is seen to go
// elsewhere.
func TestSituations(t *testing.T) {
	differing := 0
	var rows []results.Situation
	for _, s := range shared.table.Situations {
		t.Run(s.Name, func(t *testing.T) {
			row := results.Situation{Name: s.Name}
			defer func() { rows = append(rows, row) }()
			e := newEnv(t)
			best := s.Want[0]
			handicap := len(s.Want) > 1 && (s.Want[1].Cost-best.Cost > tells*max(s.Newcomer.CPUs, 1) || s.Want[1].OverLimit > 0 || s.Want[1].Avoided)
			e.domains(&s, best.Domain, handicap)
			scheduler, _ := schedulerFor(&s)
			limit := ""
			if s.Newcomer.Limit > 0 {
				limit = fmt.Sprint(float64(s.Newcomer.Limit))
			}
			newcomer := pod{name: "newcomer", application: s.Newcomer.Application, limit: limit, scheduler: scheduler, cpus: s.Newcomer.CPUs}
			e.create(newcomer)
			if best.OverLimit > 0 {
				e.pending("newcomer")
				return
			}
			got := e.placed("newcomer")
			row.Want, row.Bandmate, row.Cost = best.Domain, got, at(&s, got).Cost
			if tied := len(s.Want) > 1 && !handicap && s.Want[1].Cost-best.Cost < 0.01; got != best.Domain && !tied {
				t.Errorf("placed on %s, want %s", got, best.Domain)
			}
			if handicap {
				newcomer.name, newcomer.scheduler = "other", plainScheduler
				e.remove("newcomer")
				e.create(newcomer)
				other := at(&s, e.placed("other"))
				row.Default, row.DefaultCost, row.DefaultBeyond = other.Domain, other.Cost, other.OverLimit > 0 || other.Avoided
				if other.Domain != best.Domain {
					differing++
				}
			}
		})
	}
	t.Logf("the default scheduler places otherwise in %d situations", differing)
	if differing < 6 {
		t.Errorf("the default scheduler places otherwise in %d situations only, want six or more", differing)
	}
	if folder := os.Getenv("BANDMATE_E2E_RECORD"); folder != "" && !t.Failed() {
		if err := results.Write(folder, "situations", results.Situations{Conditions: results.Now(shared.version(t)), Rows: rows}); err != nil {
			t.Error(err)
		}
	}
}

// at returns what the situation wants of a place.
func at(s *scoretest.Situation, domain string) scoretest.Want {
	for _, w := range s.Want {
		if w.Domain == domain {
			return w
		}
	}
	return scoretest.Want{Domain: domain}
}

// version asks the API server for its version.
func (s suite) version(t *testing.T) string {
	v, err := s.client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return v.GitVersion
}

// domains creates a node for each domain with its residents. With a handicap the
// best one also has pods that use half of it up and cause no traffic.
func (e *env) domains(s *scoretest.Situation, best string, handicap bool) {
	e.Helper()
	var residents []pod
	for _, d := range s.Domains {
		n := controlplane.Node{Name: d.Name, CPUs: 256, Labels: map[string]string{v1alpha1.MachineLabel: d.Machine}}
		if d.Measured != nil {
			traffic, err := d.Measured.Units()
			if err != nil {
				e.Fatal(err)
			}
			n.Annotations = map[string]string{v1alpha1.MeasuredTrafficAnnotation: fmt.Sprintf(
				`{"readBytesPerSecond":%.0f,"writeBytesPerSecond":%.0f,"time":%q}`,
				float64(traffic.Read), float64(traffic.Write), time.Now().UTC().Format(time.RFC3339))}
		}
		e.node(n)
		for i, r := range d.Residents {
			p := pod{name: fmt.Sprintf("%s-%d", d.Name, i), application: r.Application, node: d.Name, cpus: r.CPUs}
			if r.Limit > 0 {
				p.limit = strconv.FormatFloat(float64(r.Limit), 'f', -1, 64)
			}
			residents = append(residents, p)
		}
		if handicap && d.Name == best {
			residents = append(residents, pod{name: "filler", node: d.Name, cpus: 160})
		}
	}
	e.residents(residents...)
}
