package cli

import (
	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/store"
)

// LoadAdvisor returns an advisor on the profiles of the store.
func (a *App) LoadAdvisor() (*advisor.Advisor, error) {
	folder, err := a.OpenStore()
	if err != nil {
		return nil, err
	}
	snapshot, err := folder.Snapshot(nil)
	if err != nil {
		return nil, err
	}
	return NextAdvisor(&advisor.Advisor{}, snapshot)
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
