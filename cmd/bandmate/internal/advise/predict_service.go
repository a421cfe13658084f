package advise

import (
	"fmt"
	"io"
	"strings"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/service"
)

// loadedPrediction is a prediction with what it means for a service.
type loadedPrediction struct {
	predictor.Prediction

	// Service is about the target; absent where it has no load.
	Service *service.Answer `json:"service,omitempty"`
}

// writeService prints what a prediction means for a service.
func writeService(w io.Writer, name string, a *service.Answer) error {
	if a == nil {
		return nil
	}
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

// checkP99 fails when the target's p99 exceeds a limit, or has no end.
func checkP99(name string, a *service.Answer, limit time.Duration) error {
	switch {
	case limit == 0 || a == nil:
		return nil
	case a.P99BesideSeconds == nil && a.Load < a.SaturationBeside && a.P99AloneSeconds == nil:
		return fmt.Errorf("--max-p99: no latencies of %s were measured: onboard it with --service --request", name)
	case a.P99BesideSeconds == nil:
		return fmt.Errorf("%w: p99 of %s has no end, allowed %s: its load %.6g is above the saturation, %.6g requests per second",
			cli.ErrLimit, name, report.Duration(limit), a.Load, a.SaturationBeside)
	case *a.P99BesideSeconds > limit.Seconds():
		return fmt.Errorf("%w: p99 of %s %s, allowed %s", cli.ErrLimit, name, report.Seconds(*a.P99BesideSeconds), report.Duration(limit))
	}
	return nil
}

const (
	// latencySteps is how many points the line beside neighbors has.
	latencySteps = 24
	// latencyEnd is the share of the saturation at which the lines end.
	latencyEnd = 0.95
)

// latencyPlot is the picture of the target's p99 against its load, alone and beside its
// neighbors. Its lines end before saturation.
func latencyPlot(g *advisor.Group, loads []float64, a *service.Answer) (*report.LatencyPlot, error) {
	names := make([]string, len(g.Entries))
	for i, e := range g.Entries {
		names[i] = e.Application.Name()
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
			_, answer, err := g.PredictLoads(0, at, false)
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
