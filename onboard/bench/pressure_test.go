package bench

import (
	"errors"
	"testing"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/units"
)

// A pressure that moved nothing was kept from moving: it is read again.
func TestReadingsThatMove(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name    string
		starved int
		then    error
		want    error
		reads   int
	}{
		{"at once", 0, nil, nil, 1},
		{"in the end", starvedLimit - 1, nil, nil, starvedLimit},
		{"never", starvedLimit, nil, sampling.ErrStarved, starvedLimit},
		{"broken", 2, broken, broken, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			reads := 0
			got, err := retryStarved(func() (interferer.Achieved, error) {
				if reads++; reads <= test.starved {
					return interferer.Achieved{}, nil
				}
				return interferer.Achieved{Traffic: units.Traffic{Write: 1e9}}, test.then
			})
			if !errors.Is(err, test.want) || reads != test.reads {
				t.Errorf("%d readings, %v; want %d, %v", reads, err, test.reads, test.want)
			}
			if err == nil && got.Traffic.Write != 1e9 {
				t.Errorf("read %v", got.Traffic)
			}
		})
	}
}

// A probe that seems slower alone than beside the application is read alone again,
// a bounded number of times; its bandwidth alone is the mean of all readings.
func TestProbeDisturbedAlone(t *testing.T) {
	broken := errors.New("broken")
	const beside = 6
	for _, test := range []struct {
		name  string
		alone []units.Bandwidth // reading by reading; the last stays
		fails int               // the reading that fails; 0 is none
		mean  units.Bandwidth
		reads int
		want  error
	}{
		{"quiet", []units.Bandwidth{8, 10}, 0, 9, 2, nil},
		{"a little slower alone", []units.Bandwidth{4, 4}, 0, 4, 2, nil},
		{"disturbed before", []units.Bandwidth{2, 4, 6}, 0, 4, 3, nil},
		{"disturbed for long", []units.Bandwidth{0, 0, 0, 0, 0, 0, 0, 0, 0, 40}, 0, 4, 10, nil},
		{"always disturbed", []units.Bandwidth{3}, 0, 0, mostAloneReadings, sampling.ErrDisturbed},
		{"broken before", []units.Bandwidth{8}, 1, 0, 1, broken},
		{"broken after", []units.Bandwidth{8}, 2, 0, 2, broken},
		{"broken later", []units.Bandwidth{2}, 4, 0, 4, broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			reads := 0
			observe := func() (sampling.Observation, error) {
				if reads != 1 {
					t.Errorf("observed after %d readings, want 1", reads)
				}
				return sampling.Observation{Achieved: interferer.Achieved{Traffic: units.Traffic{Read: beside}}}, nil
			}
			got, err := besideAlone(observe, func() (interferer.Achieved, error) {
				reads++
				if reads == test.fails {
					return interferer.Achieved{}, broken
				}
				return interferer.Achieved{Traffic: units.Traffic{Read: test.alone[min(reads, len(test.alone))-1]}}, nil
			})
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || reads != test.reads {
				t.Fatalf("%d readings, %v; want %d, %v", reads, err, test.reads, test.want)
			}
			if got.Alone.Total() != test.mean {
				t.Errorf("alone %v, want %v", float64(got.Alone.Total()), float64(test.mean))
			}
		})
	}
}

// What a paced interferer reaches alone is the median of readings that nobody disturbed.
func TestPacedAlone(t *testing.T) {
	type reading struct {
		total units.Bandwidth
		lost  float64
	}
	for _, test := range []struct {
		name     string
		readings []reading // the last stays
		want     units.Bandwidth
		reads    int
	}{
		{"quiet", []reading{{10, 0}, {9, 0.01}, {11, 0}}, 10, aloneRepeats},
		{"disturbed at first", []reading{{1, 0.9}, {4, 0.6}, {10, 0}, {9, 0.01}, {11, 0}}, 10, 2 + aloneRepeats},
		{"seldom quiet", []reading{{1, 0.9}, {10, 0.01}, {4, 0.6}}, 10, mostAlone},
		{"memory gives no more", []reading{{7, 0.3}, {8, 0.2}, {7, 0.3}}, 7, mostAlone},
	} {
		t.Run(test.name, func(t *testing.T) {
			reads := 0
			got, err := undisturbed(func() (interferer.Achieved, error) {
				reads++
				r := test.readings[min(reads, len(test.readings))-1]
				return interferer.Achieved{Traffic: units.Traffic{Read: r.total}, LostShare: r.lost}, nil
			})
			if err != nil || got.Total() != test.want || reads != test.reads {
				t.Errorf("%v of %d readings, %v; want %v of %d", got.Total(), reads, err, test.want, test.reads)
			}
		})
	}
}
