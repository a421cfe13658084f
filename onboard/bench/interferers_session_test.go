package bench

import (
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
)

// Two interferers share a CPU here, which makes them slow but no less two.
func TestSessionOfTwoInterferers(t *testing.T) {
	session := openSession(t)
	session.options.BufferBytes = 64 << 20
	if err := session.addOthers(t.Context(), session.Placement.Interferer, 2); err != nil {
		t.Fatal(err)
	}
	// The first spins: what is counted is the others'.
	only := pressure.Settings{First: interferer.Setting{Mode: interferer.Spin}, Others: interferer.Setting{Mode: interferer.Stream, ReadShare: 1}}
	if achieved, err := session.Alone(t.Context(), only, time.Second); err != nil || achieved.Traffic.Total() <= 0 {
		t.Errorf("the others moved %v, %v", achieved.Traffic, err)
	}
	pressures, err := session.MeasurePressures(t.Context(), []pressure.Pressure{{ReadShare: 1, Level: 1}, {ReadShare: 1, Level: 1.5}, {ReadShare: 1, Level: 2}})
	if err != nil {
		t.Fatal(err)
	}
	one, part, two := pressures[0], pressures[1], pressures[2]
	if one.Settings().Others.Mode != interferer.Spin || part.Others.Bandwidth <= 0 || two.Others.Mode != interferer.Stream || two.Others.Bandwidth != 0 {
		t.Errorf("others at 100%%, 150%%, 200%%: %+v, %+v, %+v", one.Settings().Others, part.Others, two.Others)
	}
	observation, err := session.RunUnder(t.Context(), launch.Command{Args: []string{"sleep", "1"}}, two.Settings())
	if err != nil || observation.Achieved.Traffic.Total() <= 0 || observation.Alone.Total() <= 0 {
		t.Errorf("beside two: %+v, %v", observation, err)
	}
	_, err = session.MeasurePressures(t.Context(), []pressure.Pressure{{ReadShare: 1, Level: 3}})
	if err == nil || !strings.Contains(err.Error(), "--interferers") {
		t.Errorf("300%% of two interferers: %v", err)
	}
}
