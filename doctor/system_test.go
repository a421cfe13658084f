package doctor

import (
	"testing"
	"testing/fstest"
)

func TestMemoryBacking(t *testing.T) {
	const name = "bus/virtio/drivers/virtio_balloon/virtio0/features"
	for _, test := range []struct {
		name     string
		features string
		want     State
	}{
		{"no balloon", "", OK},
		{"balloon without reporting", "0110000100000000", OK},
		{"balloon that reports", "0110010100000000", Limited},
		{"cut off", "011", Inconclusive},
	} {
		t.Run(test.name, func(t *testing.T) {
			sys := fstest.MapFS{"bus/cpu/uevent": {}}
			if test.features != "" {
				sys[name] = &fstest.MapFile{Data: []byte(test.features + "\n")}
			}
			x := &examination{Environment: Environment{Sys: sys}}
			f := x.memoryBacking()
			if f.State != test.want || (f.State == Limited) != (f.Remedy != "") {
				t.Errorf("%+v, want %s", f, test.want)
			}
		})
	}
}
