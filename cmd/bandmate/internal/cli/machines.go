package cli

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

// MachineName checks or finds the name of the machine profile.
func MachineName(name string) (string, error) {
	if name == "" {
		name = HostName()
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return "", Usagef("machine name %q: %s: name it with --name (or --machine)", name, faults[0])
	}
	return name, nil
}

// OpenMachine opens the profile folder, and returns it with the machine that is to
// be described further.
func (a *App) OpenMachine(name string) (*store.Store, *v1alpha1.MachineProfile, error) {
	folder, err := a.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	profile, err := folder.Machine(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; measure the machine itself first: bandmate machine --name %s", err, name)
	}
	return folder, profile, nil
}

// HostName returns the name of the host in lower case, or "" when it is unknown.
func HostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.ToLower(name)
}
