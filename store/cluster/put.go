package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// FieldManager is the name under which Put owns the fields that it sets.
const FieldManager = "bandmate"

// Outcome says what Put did to an object.
type Outcome string

const (
	// Created means that there was no such profile.
	Created Outcome = "created"
	// Configured means that the object was changed.
	Configured Outcome = "configured"
	// Unchanged means that the object was the same already.
	Unchanged Outcome = "unchanged"
)

// PutOptions are the options of Put. The zero value changes the cluster and fails
// on conflicts with other owners of fields.
type PutOptions struct {
	// DryRun has the API server check everything without storing it.
	DryRun bool
	// ForceConflicts takes over fields of other owners, and removes those that the
	// profile lacks.
	ForceConflicts bool
}

// Result is the result of putting one profile.
type Result struct {
	// Profile is the one that was given to Put.
	Profile v1alpha1.Object
	// Object is the metadata.name in the cluster.
	Object  string
	Outcome Outcome
	// Err is why the profile was not put; Outcome is then empty.
	Err error
}

// Put applies profiles on the server's side. Each replaces the one of the same
// kind, name and machine. The Result of a profile that cannot be put has the
// reason, and the others are put all the same. The error concerns all profiles.
func (s *Store) Put(ctx context.Context, options PutOptions, objects ...v1alpha1.Object) ([]Result, error) {
	held := map[string]*held{}
	var results []Result
	for _, o := range objects {
		kind := v1alpha1.KindOf(o)
		if held[kind] == nil {
			list, err := s.list(ctx, pluralOf(kind))
			if err != nil {
				return results, err
			}
			held[kind] = index(list)
		}
		r := Result{Profile: o}
		r.Object, r.Outcome, r.Err = s.put(ctx, options, held[kind], o)
		results = append(results, r)
		if err := ctx.Err(); err != nil {
			return results, err
		}
	}
	return results, nil
}

func (s *Store) put(ctx context.Context, options PutOptions, held *held, o v1alpha1.Object) (string, Outcome, error) {
	named, err := held.name(o)
	if err != nil {
		return "", "", err
	}
	text, err := v1alpha1.Encode(named)
	if err != nil {
		return "", "", err
	}
	plural := pluralOf(v1alpha1.KindOf(o))
	apply := metav1.PatchOptions{FieldManager: FieldManager, Force: &options.ForceConflicts}
	if options.DryRun {
		apply.DryRun = []string{metav1.DryRunAll}
	}
	got, err := s.resource(plural).Patch(ctx, named.GetName(), types.ApplyYAMLPatchType, text, apply)
	if err != nil {
		return "", "", fmt.Errorf("%s %q: %w", v1alpha1.KindOf(o), named.GetName(), explain(err, "patch", plural))
	}
	removed := false
	if options.ForceConflicts {
		if got, removed, err = s.removeOthers(ctx, options, plural, got, text); err != nil {
			return "", "", fmt.Errorf("%s %q: %w", v1alpha1.KindOf(o), named.GetName(), explain(err, "patch", plural))
		}
	}
	before := held.objects[named.GetName()]
	held.add(got)
	switch {
	case before == nil:
		return named.GetName(), Created, nil
	case !removed && before.GetGeneration() == got.GetGeneration() && maps.Equal(before.GetLabels(), got.GetLabels()) &&
		maps.Equal(before.GetAnnotations(), got.GetAnnotations()):
		return named.GetName(), Unchanged, nil
	}
	return named.GetName(), Configured, nil
}

// removeOthers removes from an object the fields of its specification and summary that the
// document lacks which was applied to it. Server-side apply leaves them where another owner
// set them. It returns the object afterward, and whether there were any; a dry run leaves
// them.
func (s *Store) removeOthers(ctx context.Context, options PutOptions, plural string, o *unstructured.Unstructured, document []byte) (*unstructured.Unstructured, bool, error) {
	var want map[string]any
	if err := yaml.Unmarshal(document, &want); err != nil {
		return nil, false, err
	}
	has := maps.Clone(o.Object)
	maps.DeleteFunc(has, func(field string, _ any) bool { return field != "spec" && field != "summary" })
	patch := removal(has, want)
	if len(patch) == 0 || options.DryRun {
		return o, len(patch) > 0, nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, false, err
	}
	got, err := s.resource(plural).Patch(ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: FieldManager})
	return got, true, err
}

// removal returns the merge patch that removes what has holds and want does not. Lists are
// applied as a whole.
func removal(has, want map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range has {
		wanted, ok := want[key]
		if !ok {
			patch[key] = nil
			continue
		}
		fields, _ := value.(map[string]any)
		wantedFields, _ := wanted.(map[string]any)
		if inner := removal(fields, wantedFields); len(inner) > 0 {
			patch[key] = inner
		}
	}
	return patch
}

// held holds the objects of one kind in the cluster.
type held struct {
	objects map[string]*unstructured.Unstructured
	// names are the names of the objects by application and machine.
	names map[[2]string]string
}

func index(list []*unstructured.Unstructured) *held {
	h := &held{map[string]*unstructured.Unstructured{}, map[[2]string]string{}}
	for _, o := range list {
		h.add(o)
	}
	return h
}

// keyOf returns application and machine of an object.
func keyOf(o *unstructured.Unstructured) [2]string {
	application := o.GetLabels()[v1alpha1.ApplicationLabel]
	if application == "" {
		application = o.GetName()
	}
	machine, _, _ := unstructured.NestedString(o.Object, "spec", "machine", "name")
	return [2]string{application, machine}
}

func (h *held) add(o *unstructured.Unstructured) {
	h.objects[o.GetName()] = o
	h.names[keyOf(o)] = o.GetName()
}

// name returns a copy of o with the name that it has in the cluster.
func (h *held) name(o v1alpha1.Object) (v1alpha1.Object, error) {
	p, ok := o.(*v1alpha1.ApplicationProfile)
	if !ok {
		return o, nil
	}
	application := v1alpha1.ApplicationOf(p)
	name, known := h.names[[2]string{application, p.Spec.Machine.Name}]
	switch {
	case known:
	case h.objects[p.Name] == nil:
		name = p.Name
	default:
		name = application + "." + p.Spec.Machine.Name
	}
	if taken := h.objects[name]; taken != nil && !known {
		return nil, fmt.Errorf("%s %q: the cluster holds another profile of this name: rename one of them", v1alpha1.KindApplicationProfile, name)
	}
	named := p.DeepCopy()
	named.Name = name
	delete(named.Labels, v1alpha1.ApplicationLabel)
	if name == application {
		return named, nil
	}
	if faults := validation.IsValidLabelValue(application); len(faults) > 0 {
		return nil, fmt.Errorf("application %q has a profile of another machine already, and cannot be named in a label: %s", application, faults[0])
	}
	if named.Labels == nil {
		named.Labels = map[string]string{}
	}
	named.Labels[v1alpha1.ApplicationLabel] = application
	return named, nil
}

// Failed joins the errors of results; nil when there are none.
func Failed(results []Result) error {
	var all []error
	for _, r := range results {
		all = append(all, r.Err)
	}
	return errors.Join(all...)
}
