package advise

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
)

// clusterSource says whether profiles are read from a cluster.
type clusterSource struct {
	cli.ClusterFlags

	cluster bool
}

func (f *clusterSource) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.cluster, "cluster", false, "use the profiles of a Kubernetes cluster instead of the folder")
	f.ClusterFlags.Add(flags)
}

// check refuses flags of a cluster without --cluster.
func (f *clusterSource) check(a *cli.App, flags *pflag.FlagSet) error {
	for _, name := range []string{"kubeconfig", "context"} {
		if !f.cluster && a.IsGiven(flags.Lookup(name)) {
			return cli.Usagef("--%s: want --cluster with it", name)
		}
	}
	return nil
}

// loadFrom returns the profiles of the folder or of a cluster.
func loadFrom(ctx context.Context, a *cli.App, from clusterSource) (profiles []*v1alpha1.ApplicationProfile, broken []error, err error) {
	if !from.cluster {
		return a.LoadProfiles()
	}
	s, err := from.Store()
	if err != nil {
		return nil, nil, err
	}
	return s.Applications(ctx)
}

// exportCluster writes the profiles of a cluster as store.Export does a folder's.
func exportCluster(ctx context.Context, a *cli.App, from clusterSource, names []string) error {
	s, err := from.Store()
	if err != nil {
		return err
	}
	machines, broken, err := s.Machines(ctx)
	if err != nil {
		return err
	}
	applications, more, err := s.Applications(ctx)
	if err != nil {
		return err
	}
	broken = append(broken, more...)
	if err := errors.Join(broken...); err != nil && len(names) == 0 {
		return fmt.Errorf("repair or delete these objects first, or name the profiles to export: %w", err)
	}
	objects, err := choose(a.Objects(machines, applications, broken...), names)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("the cluster has no profiles")
	}
	text, err := v1alpha1.EncodeAll(objects...)
	if err != nil {
		return err
	}
	return a.WriteBytes(text)
}

// choose keeps the objects of the given names, all of them without any; a name
// without an object is store.ErrNotFound.
func choose(objects []v1alpha1.Object, names []string) ([]v1alpha1.Object, error) {
	if len(names) == 0 {
		return objects, nil
	}
	var faults []error
	for _, name := range names {
		if !slices.ContainsFunc(objects, func(o v1alpha1.Object) bool { return o.GetName() == name }) {
			faults = append(faults, fmt.Errorf("cluster: profile %q: %w", name, store.ErrNotFound))
		}
	}
	objects = slices.DeleteFunc(objects, func(o v1alpha1.Object) bool { return !slices.Contains(names, o.GetName()) })
	return objects, errors.Join(faults...)
}
