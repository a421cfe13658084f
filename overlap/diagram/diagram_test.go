package diagram_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/drawing/drawingtest"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/overlap/diagram"
	"bandmate.dev/bandmate/units"
)

const gigabyte = units.GigabytePerSecond

func parameters() overlap.Parameters {
	local := overlap.Instance{
		CommunicationAlone: 11 * gigabyte, LeastCommunicationShare: 0.3,
		ComputationPerCore: 5 * gigabyte, ComputationAlone: 60 * gigabyte, ComputationAloneCores: 14,
		Total: 65 * gigabyte, TotalCores: 11, TotalAtComputationAloneCores: 62 * gigabyte,
		LossBefore: 1 * gigabyte, LossAfter: 0.5 * gigabyte,
	}
	remote := local
	remote.ComputationPerCore = 3 * gigabyte
	return overlap.Parameters{NodesPerSocket: 1, Local: local, Remote: &remote}
}

// sweep is off the prediction by a twentieth, at both fitted placements.
func sweep(t *testing.T) overlap.Sweep {
	t.Helper()
	var s overlap.Sweep
	for node := range 2 {
		for n := 1; n <= 16; n++ {
			at := overlap.Placement{ComputationNode: node, CommunicationNode: node}
			together, err := parameters().Together(n, at)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := parameters().Alone(n, at)
			if err != nil {
				t.Fatal(err)
			}
			together.Computation *= 1.05
			s = append(s, overlap.Point{Placement: at, Cores: n, Alone: alone, Together: together})
		}
	}
	return s
}

func TestGoldens(t *testing.T) {
	for name, draw := range map[string]func() ([]byte, error){
		"sweep.svg":      diagram.Bandwidths{Parameters: parameters(), Sweep: sweep(t)}.SVG,
		"prediction.svg": diagram.Bandwidths{Parameters: parameters(), Placements: []overlap.Placement{{CommunicationNode: 1}}, Cores: 15, Mark: 12, Unit: "cores of one socket"}.SVG,
		"step.svg": func() ([]byte, error) {
			return diagram.Step(overlap.Step{Computation: time.Millisecond, Communication: 500 * time.Microsecond, ComputationLoss: 1.72, CommunicationLoss: 2.2})
		},
		"communication-alone.svg": func() ([]byte, error) {
			return diagram.Step(overlap.Step{Communication: time.Second, ComputationLoss: 1, CommunicationLoss: 3})
		},
	} {
		drawn, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		drawingtest.Want(t, filepath.Join("testdata", name), drawn)
	}
}

func TestRefused(t *testing.T) {
	alone := parameters()
	alone.Remote = nil
	for _, test := range []struct {
		name string
		b    diagram.Bandwidths
		want string
	}{
		{"nothing", diagram.Bandwidths{Parameters: alone}, "no cores"},
		{"many cores", diagram.Bandwidths{Parameters: alone, Placements: []overlap.Placement{{}}, Cores: diagram.MaxCores + 1}, "1025 cores"},
		{"another socket", diagram.Bandwidths{Parameters: alone, Placements: []overlap.Placement{{ComputationNode: 1}}, Cores: 2}, "only the 1 local"},
	} {
		if _, err := test.b.SVG(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	for want, s := range map[string]overlap.Step{
		"takes no time":           {ComputationLoss: 1, CommunicationLoss: 1},
		"computation loss of 0.5": {Computation: 1, Communication: 1, ComputationLoss: 0.5, CommunicationLoss: 1},
	} {
		if _, err := diagram.Step(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
