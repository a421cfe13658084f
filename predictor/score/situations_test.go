package score_test

import (
	"os"
	"slices"
	"testing"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
)

func situations(t testing.TB) *scoretest.Table {
	t.Helper()
	text, err := os.ReadFile("testdata/situations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := scoretest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestSituations(t *testing.T) {
	table := situations(t)
	known := table.Advisor()
	for _, s := range table.Situations {
		t.Run(s.Name, func(t *testing.T) {
			options, err := s.Options()
			if err != nil {
				t.Fatal(err)
			}
			scorer, err := score.New(options)
			if err != nil {
				t.Fatal(err)
			}
			var got []score.Score
			for _, d := range s.Domains {
				domain := domainOf(t, known, &d)
				// The newcomer's profile depends on the machine, too.
				newcomer := job(known, "newcomer", s.Newcomer, d.Machine)
				one, err := scorer.Score(newcomer, domain)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, one)
			}
			slices.SortStableFunc(got, score.Compare)
			if diff := s.Check(got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func job(r *advisor.Advisor, name string, j scoretest.Job, machine string) score.Job {
	return score.Job{Name: name, Application: r.Lookup(j.Application, machine).Application, CPUs: j.CPUs, Limit: j.Limit}
}

func domainOf(t *testing.T, r *advisor.Advisor, d *scoretest.Domain) score.Domain {
	t.Helper()
	domain := score.Domain{Name: d.Name}
	for _, resident := range d.Residents {
		domain.Residents = append(domain.Residents, job(r, resident.Application, resident, d.Machine))
	}
	if d.Measured != nil {
		measured, err := d.Measured.Units()
		if err != nil {
			t.Fatal(err)
		}
		background := score.Background(measured, domain.Residents)
		domain.Background = &background
	}
	return domain
}
