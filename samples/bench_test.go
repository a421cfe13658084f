package samples

import "testing"

// BenchmarkSample runs every sample at scale 1, with set-up, as the demo does.
func BenchmarkSample(b *testing.B) {
	for _, s := range All() {
		b.Run(s.Name, func(b *testing.B) {
			var setUp, rate float64
			for b.Loop() {
				r, err := s.Run(b.Context(), 1)
				if err != nil {
					b.Fatal(err)
				}
				setUp += r.SetUp.Seconds()
				rate += r.Work / r.Elapsed.Seconds()
			}
			b.ReportMetric(setUp/float64(b.N)*1e3, "setup-ms")
			b.ReportMetric(rate/float64(b.N)/1e9, "G"+s.Unit+"/s")
		})
	}
}
