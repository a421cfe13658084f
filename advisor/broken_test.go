package advisor

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/memory"
)

// A machine whose bus no model takes keeps everything else, and everyone is told; so of
// one whose profile is invalid.
func TestBrokenNamesMachines(t *testing.T) {
	contradicts, invalid := machine("m", 40), machine("bad", 40)
	contradicts.Spec.Sockets, contradicts.Spec.Link = 2, v1alpha1.LinkShared
	contradicts.Spec.BusSharing = &v1alpha1.BusSharing{NodesPerSocket: 1, Local: v1alpha1.BusSharingInstance{
		CommunicationAloneBytesPerSecond: gb, LeastCommunicationShare: 0.4, ComputationPerCoreBytesPerSecond: 10 * gb,
		ComputationAloneBytesPerSecond: 5 * gb, ComputationAloneCores: 3, TotalBytesPerSecond: 40 * gb, TotalCores: 3,
		TotalAtComputationAloneCoresBytesPerSecond: 40 * gb,
	}}
	invalid.Spec.CPUs = -1
	a := New([]*v1alpha1.ApplicationProfile{profile("web", "other")}, []*v1alpha1.MachineProfile{contradicts, invalid, machine("other", 40)})
	if len(a.Machines()) != 2 || a.linkOf("m") != memory.LinkShared {
		t.Errorf("%d machines, the link is %v", len(a.Machines()), a.linkOf("m"))
	}
	if e := a.Lookup("web", "m"); e.State != Transferred {
		t.Errorf("%+v", e)
	}
	for i, want := range []string{"machine m: spec.busSharing.local: ", "machine bad: spec.cpus: "} {
		if got := a.Broken(); len(got) != 2 || !strings.HasPrefix(got[i].Error(), want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of two profiles of one application on a machine the valid one is used, and among many
// only valid ones are fitted: as where invalid ones are left out before.
func TestValidPrecedesInvalid(t *testing.T) {
	invalid := with(profile("web", "m"), func(p *v1alpha1.ApplicationProfile) {
		p.Spec.Solo.Seconds, p.Spec.Measurement.Time = -1, metav1.NewTime(day.Add(time.Hour))
	})
	for _, order := range [][]*v1alpha1.ApplicationProfile{{invalid, profile("web", "m")}, {profile("web", "m"), invalid}} {
		if e := New(order, nil).Lookup("web", "m"); e.State != Known || !e.Measured.Equal(day) {
			t.Errorf("%+v", e)
		}
	}
	profiles := many(mostFitted + 5)
	profiles[7].Spec.Solo.Seconds = -1
	sound := slices.Concat(profiles[:7], profiles[8:])
	names := func(all []*Profile) (names []string) {
		for _, p := range choose(all) {
			names = append(names, p.application)
		}
		return names
	}
	profiles[7].Name = names(given(sound))[0] // whose hash is the lowest
	if got, want := names(given(profiles)), names(given(sound)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
