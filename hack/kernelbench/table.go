package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// turn is one measurement of one contestant.
type turn struct {
	Share units.ReadShare
	// Round is when the round began, in milliseconds since 1970.
	Round         int64
	Before, After regime.Class
	Contestant    string
	Bandwidth     units.Bandwidth
}

// readTurns reads what appendTurns wrote; nothing if there is no such file.
func readTurns(file string) ([]turn, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var turns []turn
	for i, row := range rows {
		t, err := parseTurn(row)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		turns = append(turns, t)
	}
	return turns, nil
}

func parseTurn(row []string) (turn, error) {
	if len(row) != 6 {
		return turn{}, fmt.Errorf("%d fields, want 6", len(row))
	}
	share, err1 := units.ParseReadShare(row[0])
	round, err2 := strconv.ParseInt(row[1], 10, 64)
	rate, err3 := strconv.ParseFloat(row[5], 64)
	return turn{share, round, regime.Class(row[2]), regime.Class(row[3]), row[4], units.Bandwidth(rate)},
		errors.Join(err1, err2, err3)
}

func appendTurns(file string, turns []turn) (err error) {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := csv.NewWriter(f)
	for _, t := range turns {
		if err := w.Write([]string{
			t.Share.String(), strconv.FormatInt(t.Round, 10), string(t.Before), string(t.After),
			t.Contestant, strconv.FormatFloat(float64(t.Bandwidth), 'f', 0, 64),
		}); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// row is a line of the table.
type row struct {
	share      units.ReadShare
	regime     regime.Class
	contestant string
	turns      int
	// bandwidth and ratio have the quartiles.
	bandwidth, ratio [3]float64
}

// tabulate compares every contestant with ours, round by round.
func tabulate(turns []turn) []row {
	turns = slices.DeleteFunc(slices.Clone(turns), func(t turn) bool { return t.Before != t.After })
	var rows []row
	for len(turns) > 0 {
		share := turns[0].Share
		var group []turn
		turns = slices.DeleteFunc(turns, func(t turn) bool {
			same := near(t.Share, share)
			if same {
				group = append(group, t)
			}
			return same
		})
		rows = append(rows, tabulateShare(commonest(group))...)
	}
	return rows
}

// commonest returns the turns of the regime with the most of them.
func commonest(turns []turn) []turn {
	count := map[regime.Class]int{}
	for _, t := range turns {
		count[t.Before]++
	}
	return slices.DeleteFunc(turns, func(t turn) bool {
		for class, n := range count {
			if n > count[t.Before] || n == count[t.Before] && class < t.Before {
				return true
			}
		}
		return false
	})
}

func tabulateShare(turns []turn) []row {
	ours := "bandmate " + kernel.Best().Name()
	references := map[int64]units.Bandwidth{}
	for _, t := range turns {
		if t.Contestant == ours {
			references[t.Round] = t.Bandwidth
		}
	}
	var rows []row
	rates, ratios := map[string][]float64{}, map[string][]float64{}
	for _, t := range turns {
		reference, ok := references[t.Round]
		if !ok {
			continue // an interrupted round
		}
		rates[t.Contestant] = append(rates[t.Contestant], t.Bandwidth.GBps())
		ratios[t.Contestant] = append(ratios[t.Contestant], float64(reference/t.Bandwidth))
	}
	// By name, those of Bandmate first.
	names := slices.SortedFunc(maps.Keys(rates), func(a, b string) int {
		if first := strings.HasPrefix(a, "bandmate"); first != strings.HasPrefix(b, "bandmate") {
			if first {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		rows = append(rows, row{
			share: turns[0].Share, regime: turns[0].Before, contestant: name, turns: len(rates[name]),
			bandwidth: quartiles(rates[name]), ratio: quartiles(ratios[name]),
		})
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		kind := memrateKind(r.contestant)
		return kind != "" && slices.ContainsFunc(rows, func(other row) bool {
			return memrateKind(other.contestant) == kind && other.bandwidth[1] > r.bandwidth[1]
		})
	})
}

func quartiles(values []float64) [3]float64 {
	sorted := slices.Sorted(slices.Values(values))
	var q [3]float64
	for i := range q {
		q[i] = stat.Quantile(float64(i+1)/4, stat.LinInterp, sorted, nil)
	}
	return q
}

// report prints the table as text and as Markdown.
func report(w io.Writer, turns []turn) error {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"read share", "contestant", "GB/s", "quartiles", "bandmate ÷ it", "quartiles", "rounds", "regime"})
	var last units.ReadShare = -1
	for _, r := range tabulate(turns) {
		if last >= 0 && !near(r.share, last) {
			t.AppendSeparator()
		}
		last = r.share
		t.AppendRow(table.Row{
			r.share.String(), r.contestant,
			fmt.Sprintf("%.1f", r.bandwidth[1]), fmt.Sprintf("%.1f–%.1f", r.bandwidth[0], r.bandwidth[2]),
			fmt.Sprintf("%.3f", r.ratio[1]), fmt.Sprintf("%.3f–%.3f", r.ratio[0], r.ratio[2]),
			r.turns, string(r.regime),
		})
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", t.Render(), t.RenderMarkdown())
	return err
}
