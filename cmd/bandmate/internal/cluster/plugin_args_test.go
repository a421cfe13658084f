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
		warning                     string // a part; empty where there is none
	}{
		{"the default scheduler", two, "default-scheduler", avoid, ""},
		{"another scheduler", two, "strict", reject, ""},
		{"a scheduler without arguments", two, "plain", "", "scheduler plain has no arguments of Bandmate; the defaults are used"},
		{"a scheduler that is not there", two, "elsewhere", avoid, "default-scheduler and strict"},
		{"a scheduler that is not there, equal arguments", equal, "elsewhere", avoid, "scheduler elsewhere is not in it; the arguments of scheduler a are used"},
		{"no scheduler", two, "", avoid, "default-scheduler and strict"},
		{"no scheduler, equal arguments", equal, "", avoid, ""},
		{"no arguments", "kind: KubeSchedulerConfiguration", "", "", "no scheduler has arguments of Bandmate; the defaults are used"},
	} {
		args, warning, err := pluginArgs([]byte(test.file), test.scheduler)
		if err != nil || string(args) != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, args, err, test.want)
		}
		if !strings.Contains(warning, test.warning) || (warning == "") != (test.warning == "") {
			t.Errorf("%s: warning %q, want %q", test.name, warning, test.warning)
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
