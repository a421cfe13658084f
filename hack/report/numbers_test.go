package report

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"bandmate.dev/bandmate/units"
)

// The page writes bandwidths as the command line does.
func TestBandwidths(t *testing.T) {
	source, err := os.ReadFile("../../report/page/view.js")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ *const (significant|bandwidth) = .*$`).FindAllString(string(source), -1)
	value, err := goja.New().RunString(strings.Join(lines, "\n") + "\nbandwidth")
	if err != nil {
		t.Fatal(err)
	}
	bandwidth, ok := goja.AssertFunction(value)
	if !ok {
		t.Fatalf("%q defines no function", lines)
	}
	vm := goja.New()
	for _, b := range []units.Bandwidth{0, 0.3, 3, 42.6, 999.4, 999.6, 64e3, 999.4e3, 999.6e3, 12.34e6, 999.6e6, 1.5e9, 98.7e9} {
		got, err := bandwidth(goja.Undefined(), vm.ToValue(float64(b)))
		if err != nil || got.String() != b.String() {
			t.Errorf("%v, %v; want %v", got, err, b)
		}
	}
}
