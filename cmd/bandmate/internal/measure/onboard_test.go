package measure

import "testing"

// What is asked for twice is measured once.
func TestPressuresOnce(t *testing.T) {
	f := onboardFlags{readShares: []string{"50%", "0.5", "100%"}, levels: []string{"50%", "50%", "100%"}, interferers: 1, pattern: "sequential"}
	wanted, err := f.pressures()
	if err != nil || len(wanted) != 4 {
		t.Errorf("%v, %v; want two read shares at two levels", wanted, err)
	}
}
