package cluster

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A pod is explained with the arguments of its own scheduler.
func TestPluginArgsBySchedulerName(t *testing.T) {
	const (
		two = `kind: KubeSchedulerConfiguration
profiles:
- pluginConfig: [{name: Other, args: {}}, {name: Bandmate, args: {unknownApplications: avoid}}]
- {schedulerName: strict, pluginConfig: [{name: Bandmate, args: {unverifiableLimits: reject}}]}
- {schedulerName: plain}
`
		equal = `kind: KubeSchedulerConfiguration
profiles:
- {schedulerName: plain}
- {schedulerName: a, pluginConfig: [{name: Bandmate, args: {unknownApplications: avoid}}]}
- {schedulerName: b, pluginConfig: [{name: Bandmate, args: {unknownApplications: avoid}}]}
`
		avoid, reject = "unknownApplications: avoid\n", "unverifiableLimits: reject\n"
	)
	for _, test := range []struct {
		name, file, scheduler, want string
		warned                      bool
	}{
		{"the default scheduler", two, "default-scheduler", avoid, false},
		{"another scheduler", two, "strict", reject, false},
		{"a scheduler without arguments", two, "plain", "", false},
		{"a scheduler that is not there", two, "elsewhere", avoid, true},
		{"no scheduler", two, "", avoid, true},
		{"no scheduler, equal arguments", equal, "", avoid, false},
	} {
		args, warning, err := pluginArgs([]byte(test.file), test.scheduler)
		if err != nil || string(args) != test.want || (warning != "") != test.warned {
			t.Errorf("%s: %q, %q, %v; want %q", test.name, args, warning, err, test.want)
		}
		if test.warned && !strings.Contains(warning, "default-scheduler and strict") {
			t.Errorf("%s: %q does not name the schedulers", test.name, warning)
		}
	}
}

func FuzzPluginArgs(f *testing.F) {
	f.Add([]byte("{kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: [{name: Bandmate, args: {objective: added-cost}}]}]}"))
	f.Add([]byte("kind: Pod"))
	f.Add([]byte("{kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: [{name: Bandmate, args: null}]}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		args, _, err := pluginArgs(text, "default-scheduler")
		if err != nil {
			return
		}
		var fields map[string]any
		if err := yaml.Unmarshal(args, &fields); err != nil {
			t.Errorf("%v\n%s", err, args)
		}
	})
}
