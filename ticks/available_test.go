package ticks

import "testing"

func TestAvailable(t *testing.T) {
	got := map[string]error{}
	for _, a := range Available() {
		got[a.Kind] = a.Err
	}
	for _, always := range []string{"input and output", "a page"} {
		if err, ok := got[always]; !ok || err != nil {
			t.Errorf("%s: %v", always, err)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d kinds, want 4: %v", len(got), got)
	}
}
