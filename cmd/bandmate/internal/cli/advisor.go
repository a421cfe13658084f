package cli

import (
	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/store"
)

// LoadAdvisor returns an advisor on the profiles of the store. What takes long to find out
// about them is kept beside them.
func (a *App) LoadAdvisor() (*advisor.Advisor, error) {
	folder, err := a.OpenStore()
	if err != nil {
		return nil, err
	}
	kept := a.kept(folder)
	snapshot, err := folder.SnapshotKept(nil, kept)
	if err != nil {
		return nil, err
	}
	known, err := NextAdvisor(&advisor.Advisor{}, snapshot)
	if err != nil {
		return nil, err
	}
	a.saveKept = known.Keep(kept, snapshot.Sums()).SaveKept
	return known, nil
}

// SaveKept keeps what a command found out about profiles, for the next one.
func (a *App) SaveKept() {
	if a.saveKept != nil {
		a.saveKept()
	}
}

// kept returns what this program keeps beside the profiles of a folder; nothing where it
// cannot tell itself from other builds.
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
