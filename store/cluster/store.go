package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Store holds the profiles of one cluster. It may be used from several goroutines.
type Store struct{ client dynamic.Interface }

// New returns the store of the cluster that a client talks to.
func New(client dynamic.Interface) *Store { return &Store{client} }

// The names of the resources, as kubectl takes them.
const (
	applications = "applicationprofiles"
	machines     = "machineprofiles"
)

// pageSize is how many objects are asked for at a time.
const pageSize = 500

func (s *Store) resource(plural string) dynamic.ResourceInterface {
	return s.client.Resource(v1alpha1.GroupVersion().WithResource(plural))
}

// pluralOf returns the resource of a kind.
func pluralOf(kind string) string {
	if kind == v1alpha1.KindApplicationProfile {
		return applications
	}
	return machines
}

// Applications returns every application profile, sorted by name and machine.
// broken are the BrokenErrors of objects that are no sound profiles; the others are returned all
// the same. err means that the cluster cannot be read, and has the remedy.
func (s *Store) Applications(ctx context.Context) (profiles []*v1alpha1.ApplicationProfile, broken []error, err error) {
	profiles, broken, err = readAll[v1alpha1.ApplicationProfile](ctx, s, applications)
	for _, p := range profiles {
		v1alpha1.NameByApplication(p)
	}
	slices.SortStableFunc(profiles, func(a, b *v1alpha1.ApplicationProfile) int {
		return strings.Compare(a.Name+"@"+a.Spec.Machine.Name, b.Name+"@"+b.Spec.Machine.Name)
	})
	return profiles, broken, err
}

// Machines returns every machine profile, sorted by name; broken and err are as
// of Applications.
func (s *Store) Machines(ctx context.Context) (profiles []*v1alpha1.MachineProfile, broken []error, err error) {
	return readAll[v1alpha1.MachineProfile](ctx, s, machines)
}

// profile is a pointer to one of the types of package v1alpha1.
type profile[T any] interface {
	*T
	v1alpha1.Object
}

// BrokenError is the error of an object that is not a sound profile.
type BrokenError struct {
	application, machine string
	err                  error
}

func (e *BrokenError) Error() string { return e.err.Error() }
func (e *BrokenError) Unwrap() error { return e.err }

// Profile returns the application and the machine that the object names; both are empty
// for the profile of a machine.
func (e *BrokenError) Profile() (application, machine string) { return e.application, e.machine }

func brokenError(o *unstructured.Unstructured, err error) *BrokenError {
	e := &BrokenError{err: fmt.Errorf("cluster: %s %q: %w: apply it again, or delete it", o.GetKind(), o.GetName(), err)}
	if o.GetKind() == v1alpha1.KindApplicationProfile {
		key := keyOf(o)
		e.application, e.machine = key[0], key[1]
	}
	return e
}

func readAll[T any, P profile[T]](ctx context.Context, s *Store, plural string) (profiles []P, broken []error, err error) {
	objects, err := s.list(ctx, plural)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range objects {
		p := P(new(T))
		err := convert(o, p)
		if err != nil {
			broken = append(broken, brokenError(o, err))
			continue
		}
		profiles = append(profiles, p)
	}
	return profiles, broken, nil
}

// convert reads an object as a profile, which must be sound.
func convert(o *unstructured.Unstructured, into v1alpha1.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return err
	}
	if faults := into.Validate(); len(faults) > 0 {
		return faults.ToAggregate()
	}
	return nil
}

// list returns every object of a resource, page by page, sorted by name.
func (s *Store) list(ctx context.Context, plural string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := s.resource(plural).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("cluster: list %s: %w", plural, explain(err, "list", plural))
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}
