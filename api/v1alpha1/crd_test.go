package v1alpha1_test

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// The API server refuses by the markers in the types what Validate refuses by
// its constants.
func TestResourceDefinitionsHoldTheLimits(t *testing.T) {
	const application, machine = "applicationprofiles", "machineprofiles"
	tests := []struct {
		plural, path, limit string
		want                float64
	}{
		{application, "curves", "maxItems", v1alpha1.MaxCurves},
		{application, "curves", "minItems", 1},
		{application, "curves/points", "maxItems", v1alpha1.MaxCurvePoints},
		{application, "curves/points", "minItems", 1},
		{application, "curves/points/normalizedPerformance", "maximum", v1alpha1.MaxNormalizedPerformance},
		{application, "curves/points/interfererBytesPerSecond", "minimum", v1alpha1.MinBytesPerSecond},
		{application, "curves/points/interfererBytesPerSecond", "maximum", v1alpha1.MaxBytesPerSecond},
		{application, "contentiousness/readBytesPerSecond", "maximum", v1alpha1.MaxBytesPerSecond},
		{application, "contentiousness/timeline", "maxItems", v1alpha1.MaxTimeline},
		{application, "phases", "maxItems", v1alpha1.MaxPhases},
		{application, "command", "maxItems", v1alpha1.MaxArguments},
		{application, "warnings", "maxItems", v1alpha1.MaxWarnings},
		{machine, "sustained", "maxItems", v1alpha1.MaxSustained},
		{machine, "probeMap", "maxItems", v1alpha1.MaxProbePoints},
		{machine, "capability/latencies", "maxItems", v1alpha1.MaxLatencies},
		{machine, "capability/bandwidths", "maxItems", v1alpha1.MaxBandwidths},
		{machine, "capability/warnings", "maxItems", v1alpha1.MaxWarnings},
		{machine, "capability/latenciesBySize", "maxItems", v1alpha1.MaxLatenciesBySize},
		{machine, "capability/contentionPoints", "maxItems", v1alpha1.MaxContentionPoints},
		{machine, "capability/transfers", "maxItems", v1alpha1.MaxTransfers},
		{machine, "capability/transfers/points", "maxItems", v1alpha1.MaxTransferPoints},
		{machine, "capability/loadedLatencies", "maxItems", v1alpha1.MaxLoadedLatencies},
		{machine, "probeMap/relativeSpeed", "maximum", v1alpha1.MaxNormalizedPerformance},
	}
	for _, tt := range tests {
		t.Run(tt.plural+"/"+tt.path+"/"+tt.limit, func(t *testing.T) {
			node := specSchema(t, tt.plural)
			for name := range strings.SplitSeq(tt.path, "/") {
				if items, ok := node["items"].(map[string]any); ok {
					node = items
				}
				properties, _ := node["properties"].(map[string]any)
				node, _ = properties[name].(map[string]any)
			}
			if got, ok := node[tt.limit].(float64); !ok || got != tt.want {
				t.Errorf("got %v, want %v: run go generate", node[tt.limit], tt.want)
			}
		})
	}
}

func specSchema(t *testing.T, plural string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../manifests/base/crds/bandmate.dev_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition map[string]any
	if err := sigsyaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	spec, ok, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
	if err != nil || !ok {
		t.Fatalf("no schema of spec: %v", err)
	}
	return spec
}
