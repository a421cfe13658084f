package interferer

import (
	"context"
	"errors"
	"testing"
	"time"

	"bandmate.dev/bandmate/units"
)

func TestRunForATime(t *testing.T) {
	var windows []Achieved
	s := Setting{Mode: Stream, ReadShare: 1, Bandwidth: 50 * units.MegabytePerSecond}
	const d = 600 * time.Millisecond
	total, err := Run(t.Context(), smallOptions(t), s, d, 20*time.Millisecond, func(a Achieved) { windows = append(windows, a) })
	if err != nil {
		t.Fatal(err)
	}
	if total.Elapsed <= 0 || total.Traffic.Read == 0 || total.Traffic.Write != 0 {
		t.Errorf("achieved %+v in %v", total, d)
	}
	var sum time.Duration
	for _, w := range windows {
		sum += w.Elapsed
	}
	if len(windows) == 0 || sum > total.Elapsed {
		t.Errorf("%d windows of together %v in %v", len(windows), sum, total.Elapsed)
	}
}

func TestRunUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	windows := 0
	total, err := Run(ctx, smallOptions(t), Setting{Mode: Stream, ReadShare: 1}, 0, time.Millisecond, func(Achieved) {
		if windows++; windows == 3 {
			cancel()
		}
	})
	if err != nil || total.Traffic.Read == 0 {
		t.Errorf("achieved %+v, %v", total, err)
	}
}

func TestRunFailures(t *testing.T) {
	short := smallOptions(t)
	short.MaxDuration = 50 * time.Millisecond
	stream := Setting{Mode: Stream, ReadShare: 1}
	tests := []struct {
		name    string
		o       Options
		s       Setting
		d       time.Duration
		window  time.Duration
		windows func(Achieved)
		want    error
	}{
		{"options", Options{}, stream, time.Second, 0, nil, nil},
		{"setting", smallOptions(t), Setting{}, time.Second, 0, nil, nil},
		{"negative duration", smallOptions(t), stream, -1, 0, nil, nil},
		{"no window", smallOptions(t), stream, time.Second, 0, func(Achieved) {}, nil},
		{"maximum duration", short, stream, time.Hour, 0, nil, ErrMaxDuration},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Run(t.Context(), test.o, test.s, test.d, test.window, test.windows)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}
