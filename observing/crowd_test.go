package observing

import (
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/utils/cpuset"
)

func TestCrowd(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	processes := map[int]Process{7: {PID: 7, Parent: 1}, 8: {PID: 8, Parent: 7}, 9: {PID: 9, Parent: 1}}
	before := Snapshot{At: time.Unix(0, 0), Processes: processes}
	after := Snapshot{At: time.Unix(10, 0), Processes: processes}
	for _, test := range []struct {
		name   string
		later  map[string]string
		waited float64
		ok     bool
	}{
		{"alone", map[string]string{"7/task/7/schedstat": "9000000000 1000000 4\n"}, 0, false},
		{"a child waits", map[string]string{"8/task/10/schedstat": "3000000000 3000000000 900\n"}, 0.5, true},
		{"another process waits", map[string]string{"9/task/9/schedstat": "3000000000 3000000000 900\n"}, 0, false},
		{"a thread that is new", map[string]string{"7/task/12/schedstat": "1 3000000000 900\n"}, 0, false},
		{"not told", map[string]string{"7/task/7/schedstat": "\n"}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			proc := fstest.MapFS{"7/task/7/schedstat": file("0 0 0\n"), "8/task/10/schedstat": file("0 0 0\n"), "9/task/9/schedstat": file("0 0 0\n")}
			c := &Crowd{proc: proc, roots: []int{7}, cpus: cpuset.New(), before: before}
			c.times = c.read(before)
			for name, text := range test.later {
				proc[name] = file(text)
			}
			waited, who, ok := c.Others(after)
			if waited != test.waited || ok != test.ok || len(who) > 0 {
				t.Errorf("waited %v, beside %v, %v; want %v, %v", waited, who, ok, test.waited, test.ok)
			}
		})
	}
}
