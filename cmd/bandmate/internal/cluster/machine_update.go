package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store/cluster"
)

// putMachine puts a folder's profile of a machine into the cluster, as far as it does not
// replace what was measured later. notes say what of the cluster's stays; results are then
// of no profile, or of one with both. With force, other owners of fields lose them.
func putMachine(ctx context.Context, into *cluster.Store, mine *v1alpha1.MachineProfile, force bool) (results []cluster.Result, notes []string, err error) {
	held, _, err := into.Machines(ctx)
	if err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(held, func(m *v1alpha1.MachineProfile) bool { return m.Name == mine.Name }); i >= 0 {
		var stays string
		if mine, stays = updated(mine, held[i]); stays != "" {
			notes = append(notes, stays)
		}
		if mine == nil {
			return nil, notes, nil
		}
	}
	results, err = into.Put(ctx, cluster.PutOptions{ForceConflicts: force}, mine)
	return results, notes, err
}

// updated returns what replaces the cluster's profile of a machine where a folder has mine:
// nil where the cluster's was measured later. Some sections are measured afterward, which
// leaves the time of the profile as it is: those that only one has are kept, and of equally
// old profiles, the cluster's. stays says what of mine is left out; empty for nothing.
func updated(mine, held *v1alpha1.MachineProfile) (put *v1alpha1.MachineProfile, stays string) {
	age := mine.Spec.Measurement.Time.Compare(held.Spec.Measurement.Time.Time)
	if age < 0 {
		return nil, fmt.Sprintf("MachineProfile %s in the cluster was measured later than the folder's: it stays", mine.Name)
	}
	put = mine.DeepCopy()
	var differ []string
	section := func(name string, kept bool) {
		if kept {
			differ = append(differ, name)
		}
	}
	section("network", keep(&put.Spec.Network, held.Spec.Network, age == 0))
	section("busSharing", keep(&put.Spec.BusSharing, held.Spec.BusSharing, age == 0))
	section("capability", keep(&put.Spec.Capability, held.Spec.Capability, age == 0))
	if put.Spec.Link == "" {
		put.Spec.Link = held.Spec.Link
	}
	if age == 0 {
		section("sharedCache", keep(&put.Spec.SharedCache, held.Spec.SharedCache, true))
		put.Spec.ProbeMap = slices.Concat(put.Spec.ProbeMap, otherRegimes(held.Spec.ProbeMap, mine.Spec.ProbeMap))
	}
	if len(differ) > 0 {
		stays = fmt.Sprintf("MachineProfile %s in the cluster is as old as the folder's and differs in %s: that stays; replace it with: bandmate apply", mine.Name, strings.Join(differ, ", "))
	}
	return put, stays
}

// keep sets a section to the one that is held, if it has none or is told to prefer that. It
// reports whether another one was replaced.
func keep[T any](section **T, held *T, prefer bool) bool {
	had := *section
	if held == nil || had != nil && !prefer {
		return false
	}
	*section = held
	return had != nil && !reflect.DeepEqual(had, held)
}

// otherRegimes returns the points of regimes of which known has none.
func otherRegimes(points, known []v1alpha1.ProbePoint) []v1alpha1.ProbePoint {
	return slices.DeleteFunc(slices.Clone(points), func(p v1alpha1.ProbePoint) bool {
		return slices.ContainsFunc(known, func(k v1alpha1.ProbePoint) bool { return k.Regime == p.Regime })
	})
}

// settled turns conflicts with other owners of fields into notes.
func settled(results []cluster.Result) (rest []cluster.Result, notes []string) {
	for _, r := range results {
		if errors.Is(r.Err, cluster.ErrConflict) {
			notes = append(notes, r.Err.Error())
			continue
		}
		rest = append(rest, r)
	}
	return rest, notes
}
