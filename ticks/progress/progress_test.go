package progress

import "testing"

func BenchmarkAdd(b *testing.B) {
	measured := new(uint64)
	for name, to := range map[string]*uint64{"measured": measured, "not": nil} {
		b.Run(name, func(b *testing.B) {
			defer func(before *uint64) { count = before }(count)
			count = to
			for b.Loop() {
				Add(1)
			}
		})
	}
	if *measured == 0 {
		b.Error("nothing was counted")
	}
}
