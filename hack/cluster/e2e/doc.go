// Package e2e tests Bandmate in a real control plane.
package e2e

import _ "bandmate.dev/bandmate/api/v1alpha1"
