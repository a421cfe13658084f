package slurm

import (
	"fmt"
	"os"
	"testing"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
)

// TestSituations asks the Slurm door what every door is asked: the same
// situations that the Kubernetes plugin is tested with.
func TestSituations(t *testing.T) {
	text, err := os.ReadFile("../predictor/score/testdata/situations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := scoretest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	known := table.Advisor()
	asked := 0
	for _, s := range table.Situations {
		if measured(&s) {
			continue // Slurm tells no traffic of a node
		}
		asked++
		t.Run(s.Name, func(t *testing.T) {
			options, err := s.Options()
			if err != nil {
				t.Fatal(err)
			}
			c := situation(&s)
			advisor := Advisor{Advisor: known, Options: Options{Score: options}}
			advice, err := advisor.Advise(c, Request{
				Application: s.Newcomer.Application, Nodes: 1, CPUsPerNode: s.Newcomer.CPUs, Limit: s.Newcomer.Limit,
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []score.Score
			for _, candidate := range advice.Candidates {
				got = append(got, named(candidate))
			}
			if diff := s.Check(got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if asked < 15 {
		t.Errorf("asked %d of %d situations", asked, len(table.Situations))
	}
}

func measured(s *scoretest.Situation) bool {
	for _, d := range s.Domains {
		if d.Measured != nil {
			return true
		}
	}
	return false
}

// situation makes a cluster of one node per domain; a feature names the domain
// and the machine, and comments name applications and limits.
func situation(s *scoretest.Situation) *Cluster {
	c := &Cluster{Partitions: []Partition{{Name: "pack", Default: true}}}
	for i, d := range s.Domains {
		n := Node{
			Name: fmt.Sprintf("n%d", i), CPUs: 256, Sockets: 1, CoresPerSocket: 256, ThreadsPerCore: 1, State: "MIXED",
			Features: []string{DomainFeature + "=" + d.Name, MachineFeature + "=" + d.Machine}, Partitions: []string{"pack"},
		}
		c.Nodes = append(c.Nodes, n)
		for _, r := range d.Residents {
			comment := ApplicationWord + "=" + r.Application
			if r.Limit != 0 {
				comment += fmt.Sprintf(" %s=%v", LimitWord, float64(r.Limit))
			}
			c.Jobs = append(c.Jobs, Job{
				ID: int64(len(c.Jobs) + 1), State: Running, Nodes: []string{n.Name}, NodeCount: 1, CPUs: int(r.CPUs), Comment: comment,
			})
		}
	}
	return c
}

// named calls the residents by their applications, as the table does.
func named(c Candidate) score.Score {
	s := c.Score
	for i, r := range c.Residents {
		s.Residents[i].Job = r.Application
	}
	return s
}
