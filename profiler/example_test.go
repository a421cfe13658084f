package profiler_test

import (
	"fmt"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/profiler"
)

func ExampleMap_Infer() {
	point := func(probe string, share, level, alone, achieved, speed float64) v1alpha1.ProbePoint {
		return v1alpha1.ProbePoint{
			Probe: probe, ReadShare: share, Level: level, InterfererBytesPerSecond: alone,
			AchievedBytesPerSecond: achieved, RelativeSpeed: speed, Repeats: 3,
		}
	}
	m, err := profiler.NewMap([]v1alpha1.ProbePoint{
		point(profiler.Reader, 0.5, 0.4, 24e9, 24e9, 0.68), point(profiler.Reader, 0.5, 1, 60e9, 38e9, 0.54),
		point(profiler.Reader, 1, 0.4, 16e9, 16e9, 0.64), point(profiler.Reader, 1, 1, 43e9, 25e9, 0.58),
		point(profiler.Modifier, 0.5, 0.4, 24e9, 23e9, 0.57), point(profiler.Modifier, 0.5, 1, 60e9, 32e9, 0.56),
		point(profiler.Modifier, 1, 0.4, 16e9, 16e9, 0.70), point(profiler.Modifier, 1, 1, 43e9, 23e9, 0.67),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Beside the reader the application keeps 90% of its speed and the reader
	// 80%; beside the modifier 85% and 83%.
	performance := []float64{0.90, 0.85}
	e, err := m.Infer([]profiler.ProbeReading{
		{Probe: profiler.Reader, RelativeSpeed: 0.80, ApplicationPerformance: &performance[0]},
		{Probe: profiler.Modifier, RelativeSpeed: 0.83, ApplicationPerformance: &performance[1]},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	share, _ := e.Traffic.ReadShare()
	fmt.Printf("%.0f GB/s ± %.0f%%, %.0f%% reads\n", e.Traffic.Total().GBps(), 100*e.RelativeUncertainty, 100*float64(share))
	// Output: 11 GB/s ± 25%, 80% reads
}
