package cluster

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// schedulerProfile is a scheduler in a KubeSchedulerConfiguration.
type schedulerProfile struct {
	SchedulerName string `json:"schedulerName"`
	PluginConfig  []struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"pluginConfig"`
}

func (p *schedulerProfile) name() string {
	return cmp.Or(p.SchedulerName, corev1.DefaultSchedulerName)
}

// args returns the plugin's arguments; nil when the profile has none.
func (p *schedulerProfile) args() ([]byte, error) {
	for _, plugin := range p.PluginConfig {
		if plugin.Name == "Bandmate" {
			return yaml.Marshal(plugin.Args)
		}
	}
	return nil, nil
}

// pluginArgs cuts the plugin's arguments of a scheduler out of a configuration; nil when it
// has none, with a warning. For a scheduler that is not in the configuration, they are the
// first ones, with a warning. For one that is not known, which is empty, the warning is of
// others that differ.
func pluginArgs(data []byte, scheduler string) (args []byte, warning string, err error) {
	var c struct {
		Kind     string             `json:"kind"`
		Profiles []schedulerProfile `json:"profiles"`
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		return nil, "", err
	}
	if c.Kind != "KubeSchedulerConfiguration" {
		return nil, "", fmt.Errorf("kind %q: want KubeSchedulerConfiguration", c.Kind)
	}
	if i := slices.IndexFunc(c.Profiles, func(p schedulerProfile) bool { return p.name() == scheduler }); i >= 0 {
		if args, err = c.Profiles[i].args(); args == nil && err == nil {
			warning = fmt.Sprintf("--scheduler-config: scheduler %s has no arguments of Bandmate; the defaults are used", scheduler)
		}
		return args, warning, err
	}
	args, from, warning, err := firstArgs(c.Profiles)
	switch {
	case err != nil || warning != "":
	case args == nil:
		warning = "--scheduler-config: no scheduler has arguments of Bandmate; the defaults are used"
	case scheduler != "":
		warning = fmt.Sprintf("--scheduler-config: scheduler %s is not in it; the arguments of scheduler %s are used", scheduler, from)
	}
	return args, warning, err
}

// firstArgs returns the first arguments of the plugin, whose they are, and a warning where
// those of another profile differ.
func firstArgs(profiles []schedulerProfile) (first []byte, scheduler, warning string, err error) {
	for i := range profiles {
		p := &profiles[i]
		args, err := p.args()
		switch {
		case err != nil:
			return nil, "", "", err
		case args == nil:
		case first == nil:
			first, scheduler = args, p.name()
		case !bytes.Equal(args, first):
			return first, scheduler, fmt.Sprintf("--scheduler-config: schedulers %s and %s have different arguments of Bandmate; those of %s are used", scheduler, p.name(), scheduler), nil
		}
	}
	return first, scheduler, "", nil
}
