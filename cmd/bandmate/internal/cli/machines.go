package cli

import (
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
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

// HostName returns the name of the host in lower case, or "" when it is unknown.
func HostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.ToLower(name)
}
