package onboard

import (
	"errors"
	"testing"

	"bandmate.dev/bandmate/interferer"
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
		{"never", starvedLimit, nil, errStarved, starvedLimit},
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
