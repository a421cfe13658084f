package cli

import (
	"fmt"
	"slices"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

// LoadAdvisor returns an advisor on the profiles of the store, each of which is read
// when it is needed. Results that take long to compute are kept beside the profiles.
func (a *App) LoadAdvisor() (*advisor.Advisor, error) {
	var profiles Profiles
	known, _, err := profiles.Advisor(a)
	return known, err
}

// Profiles are those of the store, for a command that reads them repeatedly. The zero
// value has read none.
type Profiles struct {
	index *store.Index
	known *advisor.Advisor
}

// Advisor returns an advisor on the profiles as they are now: the one that it returned last
// unless changed.
func (p *Profiles) Advisor(a *App) (known *advisor.Advisor, changed bool, err error) {
	index, kept, err := a.loadIndex()
	if err != nil || index.Same(p.index) {
		return p.known, false, err
	}
	profiles := make([]*advisor.Profile, 0, len(index.Applications))
	broken := index.Broken
	for _, one := range index.Applications {
		summary, _, err := divided(one)
		var profile *advisor.Profile
		if err == nil {
			profile, err = advisor.NewProfile(summary, one.Sum, one.Read)
		}
		if err != nil {
			broken = append(broken, fmt.Errorf("profile %s: %w", one.Name, err))
			continue
		}
		profiles = append(profiles, profile)
	}
	p.index, p.known = index, advisor.NewOf(profiles, index.Machines, broken...).Keep(kept)
	a.saveKept = p.known.SaveKept
	return p.known, true, nil
}

// LoadProfiles returns every profile of an application in the store, and the errors of
// files that cannot be read.
func (a *App) LoadProfiles() (profiles []*v1alpha1.ApplicationProfile, broken []error, err error) {
	index, _, err := a.loadIndex()
	if err != nil {
		return nil, nil, err
	}
	profiles, broken = index.All()
	return profiles, broken, nil
}

func (a *App) loadIndex() (*store.Index, store.Kept, error) {
	folder, err := a.OpenStore()
	if err != nil {
		return nil, store.Kept{}, err
	}
	kept := a.kept(folder)
	index, err := folder.Index(kept, summarize)
	return index, kept, err
}

// Objects returns profiles as objects, machines first, and warns about those that could
// not be read.
func (a *App) Objects(machines []*v1alpha1.MachineProfile, applications []*v1alpha1.ApplicationProfile, broken ...error) []v1alpha1.Object {
	for _, b := range broken {
		a.Warn([]string{b.Error()})
	}
	var objects []v1alpha1.Object
	for _, m := range machines {
		objects = append(objects, m)
	}
	for _, p := range applications {
		objects = append(objects, p)
	}
	return objects
}

// namesOf returns the names of the applications' profiles, sorted.
func namesOf(index *store.Index) []string {
	names := make([]string, len(index.Applications))
	for i, p := range index.Applications {
		names[i] = p.Name
	}
	return slices.Compact(names)
}

// SaveKept keeps what a command found out about profiles, for the next one.
func (a *App) SaveKept() {
	if a.saveKept != nil {
		a.saveKept()
	}
}

// kept returns the results that this program keeps beside the profiles of a folder;
// nothing where it cannot be identified among builds.
func (a *App) kept(folder *store.Store) store.Kept {
	version, err := identity()
	if err != nil {
		return store.Kept{}
	}
	return folder.Kept(version)
}

// NextAdvisor returns an advisor on a snapshot. It keeps what old computed from
// profiles that have not changed.
func NextAdvisor(old *advisor.Advisor, s *store.Snapshot) (*advisor.Advisor, error) {
	applications, broken, err := s.Applications()
	if err != nil {
		return nil, err
	}
	machines, more, err := s.Machines()
	if err != nil {
		return nil, err
	}
	return old.Next(applications, machines, append(broken, more...)...), nil
}
