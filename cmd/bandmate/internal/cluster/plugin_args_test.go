package cluster

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func FuzzPluginArgs(f *testing.F) {
	f.Add([]byte("{kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: [{name: Bandmate, args: {objective: added-cost}}]}]}"))
	f.Add([]byte("kind: Pod"))
	f.Add([]byte("{kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: [{name: Bandmate, args: null}]}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		args, err := pluginArgs(text)
		if err != nil {
			return
		}
		var fields map[string]any
		if err := yaml.Unmarshal(args, &fields); err != nil {
			t.Errorf("%v\n%s", err, args)
		}
	})
}
