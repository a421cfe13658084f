package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNotInstalled means that the cluster does not know Bandmate's resources.
var ErrNotInstalled = errors.New("the cluster has no such resource")

// ErrConflict means that another owner set a field of the object.
var ErrConflict = errors.New("another owner set these fields")

// explain adds the remedy to an error of the API server. verb and plural are those
// of the request.
func explain(err error, verb, plural string) error {
	switch {
	case apierrors.IsNotFound(err) && (verb == "list" || !namesObject(err)):
		return fmt.Errorf("%w: %w: install the custom resource definitions, with the chart or with kubectl apply -f manifests/base/crds", ErrNotInstalled, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask for the verb %s on %s.bandmate.dev, as the cluster role bandmate-profile-editor allows", err, verb, plural)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: choose credentials that are valid with --kubeconfig or --context", err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %s: take them over with --force-conflicts", ErrConflict, causes(err))
	case apierrors.IsInvalid(err):
		return errors.New(causes(err))
	case !errors.As(err, new(apierrors.APIStatus)) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: is this the right cluster, and does its API server run? see kubectl cluster-info", err)
	}
	return err
}

// namesObject tells a missing object from a missing resource.
func namesObject(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name != ""
}

// causes returns the faults that the API server lists, one a line, with their
// field paths; its whole message if it lists none.
func causes(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return err.Error()
	}
	var lines []string
	for _, c := range status.Status().Details.Causes {
		lines = append(lines, cause(c))
	}
	return strings.Join(lines, "\n")
}

func cause(c metav1.StatusCause) string {
	if c.Field == "" {
		return c.Message
	}
	return c.Field + ": " + c.Message
}
