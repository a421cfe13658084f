package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/service"
)

// namedService is how one service of a prediction fares.
type namedService struct {
	*service.Answer

	name string
}

// servicesOf returns the services of a prediction, the target first, then by name.
func servicesOf(p advisor.ServicePrediction) []namedService {
	var all []namedService
	if p.Service != nil {
		all = append(all, namedService{p.Service, p.Target})
	}
	for _, name := range slices.Sorted(maps.Keys(p.CorunnerServices)) {
		all = append(all, namedService{p.CorunnerServices[name], name})
	}
	return all
}

// writeServices prints what a prediction means for its services.
func writeServices(w io.Writer, p advisor.ServicePrediction) error {
	for _, s := range servicesOf(p) {
		if err := writeService(w, s.name, s.Answer); err != nil {
			return err
		}
	}
	return nil
}

func writeService(w io.Writer, name string, a *service.Answer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %.6g requests/s: p99 ", report.SanitizeText(name), a.Load)
	switch {
	case a.P99AloneSeconds == nil:
		b.WriteString("unknown\n")
	case a.P99BesideSeconds == nil:
		fmt.Fprintf(&b, "%s alone, without end beside its neighbors\n", report.Seconds(*a.P99AloneSeconds))
	default:
		high := "no upper end"
		if a.P99Interval.High != nil {
			high = report.Seconds(*a.P99Interval.High)
		}
		fmt.Fprintf(&b, "%s alone, %s beside (90%% interval %s to %s)\n",
			report.Seconds(*a.P99AloneSeconds), report.Seconds(*a.P99BesideSeconds), report.Seconds(a.P99Interval.Low), high)
	}
	fmt.Fprintf(&b, "saturation: %.6g requests/s alone, %.6g beside\n", a.SaturationAlone, a.SaturationBeside)
	_, err := io.WriteString(w, b.String())
	return err
}

// checkP99s fails when a service's p99 exceeds its limit, or has no end.
func checkP99s(p advisor.ServicePrediction) error {
	var faults []error
	for _, s := range servicesOf(p) {
		if s.MaxP99Seconds == nil {
			continue
		}
		switch limit := report.Seconds(*s.MaxP99Seconds); {
		case s.Kept == nil:
			faults = append(faults, fmt.Errorf("--max-p99: no latencies of %s were measured: onboard it with --service --request", s.name))
		case *s.Kept:
		case s.P99BesideSeconds == nil:
			faults = append(faults, fmt.Errorf("%w: p99 of %s has no end, allowed %s: its load %.6g is above 99%% of the saturation, %.6g requests per second",
				cli.ErrLimit, s.name, limit, s.Load, s.SaturationBeside))
		default:
			faults = append(faults, fmt.Errorf("%w: p99 of %s %s, allowed %s", cli.ErrLimit, s.name, report.Seconds(*s.P99BesideSeconds), limit))
		}
	}
	return errors.Join(faults...)
}

const (
	// latencySteps is how many points the line beside neighbors has.
	latencySteps = 24
	// latencyEnd is the share of the saturation at which the lines end.
	latencyEnd = 0.95
)

// latencyPlot is the picture of the target's p99 against its load, alone and beside its
// neighbors. Its lines end before saturation.
func latencyPlot(ctx context.Context, g *advisor.Group, demands []service.Demand, a *service.Answer) (*report.LatencyPlot, error) {
	names, loads := make([]string, len(g.Entries)), make([]float64, len(g.Entries))
	for i, e := range g.Entries {
		names[i], loads[i] = e.Application.Name(), demands[i].Load
	}
	alone, beside := report.LatencyLine{Name: "alone"}, report.LatencyLine{Name: "beside " + strings.Join(names[1:], ", ")}
	for _, l := range g.Entries[0].Profile.Spec.Service.Loads {
		alone.Points = append(alone.Points, report.LatencyPoint{RequestsPerSecond: l.RequestsPerSecond, Seconds: l.P99Seconds, Measured: true})
	}
	if len(alone.Points) > 0 {
		first := alone.Points[0].RequestsPerSecond
		end := latencyEnd * a.SaturationBeside
		for i := range latencySteps {
			at := append([]float64{}, loads...)
			at[0] = first + (end-first)*float64(i)/(latencySteps-1)
			_, answer, err := g.PredictLoads(ctx, 0, at, false)
			if err != nil {
				return nil, err
			}
			if answer.P99BesideSeconds != nil {
				beside.Points = append(beside.Points, report.LatencyPoint{RequestsPerSecond: at[0], Seconds: *answer.P99BesideSeconds})
			}
		}
	}
	return &report.LatencyPlot{Title: names[0] + " beside " + strings.Join(names[1:], ", "), Quantile: "p99", Lines: []report.LatencyLine{alone, beside}}, nil
}
