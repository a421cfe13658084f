package measure

import (
	"context"
	"fmt"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/units"
)

// maxTransferLines is 256 KiB, the largest message of section IV.A.4 of Ramos and
// Hoefler.
const maxTransferLines = 4 << 10

// transfers measures how long the first CPU takes to read or copy several lines
// from the cache of another.
func (r *runner) transfers() []section {
	if len(r.options.CPUs) < 2 {
		return nil
	}
	var sections []section
	for _, place := range []string{"tile", "remote"} {
		cpu, ok := r.nearestOf(place)
		if !ok {
			continue
		}
		for _, state := range []string{"modified", "exclusive"} {
			if state == "exclusive" && !canFlush {
				continue
			}
			for _, access := range []string{"read", "copy"} {
				sections = append(sections, r.transferOf(cpu, v1alpha1.LinesTransfer{Place: place, State: state, Access: access}))
			}
		}
	}
	return sections
}

// transferLines returns the powers of two up to half of the second level.
func (r *runner) transferLines() []int {
	most := maxTransferLines
	if level2 := r.capability().Level2Bytes; level2 > 0 {
		most = min(most, max(16, int(level2/2/units.LineBytes)))
	}
	var all []int
	for n := 1; n <= most; n *= 2 {
		all = append(all, n)
	}
	return all
}

func (r *runner) transferOf(owner int, t v1alpha1.LinesTransfer) section {
	var b buffer
	s := section{
		open: func(context.Context) (err error) {
			b, err = newBuffer(2*maxTransferLines*units.LineBytes, nil)
			return err
		},
		close: func() error { return b.Free() },
		done:  func() { r.fitTransfer(t) },
	}
	for _, n := range r.transferLines() {
		s.values = append(s.values, value{
			what: fmt.Sprintf("%s of %s lines of CPU %d, lines: %d", t.Access, t.State, owner, n),
			once: func() (float64, error) {
				all := b.lines()
				return transferred([]int{owner, r.options.CPUs[0]}, t, all[:n], all[maxTransferLines:maxTransferLines+n])
			},
			keep: func(m Median) {
				t.Points = append(t.Points, v1alpha1.TransferPoint{
					Lines: n, Nanoseconds: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
				})
			},
		})
	}
	return s
}

// transferred returns the median over some rounds: the first CPU makes the lines
// its own, the second one takes them.
func transferred(cpus []int, t v1alpha1.LinesTransfer, lines, local []line) (float64, error) {
	rounds := 1 + min(31, max(5, maxTransferLines/len(lines)))
	times := make([]time.Duration, 0, rounds)
	var clock time.Duration
	sum := 0.0
	err := inRounds(cpus, rounds, func(round int) {
		if t.State == "modified" {
			writeGeneric(lines, float64(round))
			return
		}
		flushLines(lines)
		readLines(lines)
	}, func(i, round int, w *window) time.Duration {
		if i == 0 {
			return 0
		}
		if round == 0 {
			clock = clockCost(w)
			writeGeneric(local, 1)
			return 0
		}
		begin := w.now()
		if t.Access == "copy" {
			copy(local, lines)
		} else {
			sum += readLines(lines)
		}
		return max(1, w.now()-begin-clock)
	}, func(round int, took []time.Duration) {
		if round > 0 {
			times = append(times, took[1])
		}
	})
	local[0][0] = sum // so that the compiler keeps the reads
	if err != nil || len(times) == 0 {
		return 0, err
	}
	return float64(interquartileMean(times)), nil
}

// fitTransfer fits α + β·n, by relative errors: n runs over three orders of
// magnitude.
func (r *runner) fitTransfer(t v1alpha1.LinesTransfer) {
	points := make([]capability.FitPoint, len(t.Points))
	for i, p := range t.Points {
		points[i] = capability.FitPoint{N: p.Lines, Cost: capability.Cost(p.Nanoseconds)}
	}
	fit, err := capability.FitLine(points, true)
	if err == nil && (fit.Line.Base < 0 || fit.Line.Each < 0) {
		err = fmt.Errorf("α = %.0f ns and β = %.1f ns, and neither can be negative", float64(fit.Line.Base), float64(fit.Line.Each))
	}
	if err != nil {
		r.warn("%s of several %s lines, %s: α + β·n was not fitted: %v", t.Access, t.State, t.Place, err)
		return
	}
	t.BaseNanoseconds, t.PerLineNanoseconds = float64(fit.Line.Base), float64(fit.Line.Each)
	t.BaseIntervalNanoseconds, t.PerLineIntervalNanoseconds = new(float64(fit.BaseInterval)), new(float64(fit.EachInterval))
	r.capability().Transfers = append(r.capability().Transfers, t)
}
