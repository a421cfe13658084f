package evaluation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/memory"
)

// Profile returns what onboarding would have written, restricted to o.
func (a *App) Profile(o Options) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindApplicationProfile, a.Name
	target := a.Remote
	if a.Local != nil {
		target = *a.Local
	}
	p.Spec.Solo = timing(target)
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond:  float64(a.Remote.Traffic.Read),
		WriteBytesPerSecond: float64(a.Remote.Traffic.Write),
		Source:              "imported",
		RelativeUncertainty: a.Uncertainty,
		Timeline:            a.Timeline,
	}
	if a.Local != nil && !a.near && *a.Local != a.Remote {
		p.Spec.Distance = &v1alpha1.Distance{
			CorunnerSolo:              timing(a.Remote),
			TargetReadBytesPerSecond:  float64(a.Local.Traffic.Read),
			TargetWriteBytesPerSecond: float64(a.Local.Traffic.Write),
		}
	}
	p.Spec.Curves = restrict(a.Curves, o)
	p.Spec.Cache = a.Cache
	return p
}

func timing(r SoloRun) v1alpha1.Timing { return v1alpha1.Timing{Seconds: r.Seconds, Repeats: 1} }

// machineName is that of the machine of a data set.
const machineName = "measured"

// Profiles returns the profiles that predictions for the data set are made from, as a
// folder of profiles holds them: those of the applications, in order, and that of the
// machine. A name that a profile cannot have is replaced. The error joins the faults of
// all profiles.
func (d *Dataset) Profiles(o Options) ([]*v1alpha1.ApplicationProfile, *v1alpha1.MachineProfile, error) {
	machine := d.machine()
	var profiles []*v1alpha1.ApplicationProfile
	var faults []error
	check := func(what string, all field.ErrorList) {
		if len(all) > 0 {
			faults = append(faults, fmt.Errorf("%s: %w", what, all.ToAggregate()))
		}
	}
	check("the machine", machine.Validate())
	noise := &noise{o.Noise, rand.New(rand.NewPCG(o.Seed, 0))}
	for i := range d.Apps {
		noisy := d.Apps[i]
		noisy.Curves = noise.on(noisy.Curves)
		noisy.Cache = noise.onCache(noisy.Cache)
		p := noisy.Profile(o)
		p.Name, p.Spec.Machine.Name = d.profileName(i), machine.Name
		p.Spec.Contentiousness.Timeline = shorten(p.Spec.Contentiousness.Timeline)
		check(noisy.Name, p.Validate())
		profiles = append(profiles, p.Rounded())
	}
	return profiles, machine, errors.Join(faults...)
}

// profileName returns the name of the i-th application's profile.
func (d *Dataset) profileName(i int) string {
	name := d.Apps[i].Name
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	for name = fmt.Sprintf("application-%d", i+1); ; name += "-" + strconv.Itoa(i+1) {
		if _, taken := d.index[name]; !taken {
			return name
		}
	}
}

// machine returns the profile of the machine: its link, and what the interferer sustains.
// A data set does not say how many sockets, nodes and CPUs there are: there are two of
// each unless everyone is equally near the memory.
func (d *Dataset) machine() *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{}
	m.APIVersion, m.Kind, m.Name = v1alpha1.APIVersion, v1alpha1.KindMachineProfile, machineName
	m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = 2, 2, 2
	if d.Platform.Link == memory.LinkNone {
		m.Spec.Sockets, m.Spec.NUMANodes = 1, 1
	}
	m.Spec.Link = string(d.Platform.Link)
	if c := d.Platform.SharedCache; c != nil {
		m.Spec.LastLevelCacheBytes, m.Spec.SharedCache = c.Bytes, &v1alpha1.SharedCache{Bytes: c.Bytes}
	}
	sustained := map[float64]float64{}
	for _, a := range d.Apps {
		for _, c := range a.Curves {
			for _, p := range c.Points {
				sustained[c.ReadShare] = max(sustained[c.ReadShare], p.InterfererBytesPerSecond)
			}
		}
	}
	for _, share := range slices.Sorted(maps.Keys(sustained)) {
		m.Spec.Sustained = append(m.Spec.Sustained, v1alpha1.SustainedBandwidth{ReadShare: share, BytesPerSecond: sustained[share], Repeats: 1})
	}
	return m
}

// shorten merges neighboring samples until a profile can hold them.
func shorten(timeline []v1alpha1.TrafficSample) []v1alpha1.TrafficSample {
	for len(timeline) > v1alpha1.MaxTimeline {
		var half []v1alpha1.TrafficSample
		start := 0.0
		for pair := range slices.Chunk(timeline, 2) {
			last := pair[len(pair)-1]
			if len(pair) == 2 {
				part := (pair[0].Seconds - start) / (last.Seconds - start)
				last.ReadBytesPerSecond = part*pair[0].ReadBytesPerSecond + (1-part)*last.ReadBytesPerSecond
				last.WriteBytesPerSecond = part*pair[0].WriteBytesPerSecond + (1-part)*last.WriteBytesPerSecond
			}
			half, start = append(half, last), last.Seconds
		}
		timeline = half
	}
	return timeline
}

// restrict keeps the curves and points nearest to what o asks for.
func restrict(all []v1alpha1.SensitivityCurve, o Options) []v1alpha1.SensitivityCurve {
	shares := make([]float64, len(o.ReadShares))
	for i, s := range o.ReadShares {
		shares[i] = float64(s)
	}
	var kept []v1alpha1.SensitivityCurve
	for _, i := range nearest(len(all), func(i int) float64 { return all[i].ReadShare }, shares) {
		c := all[i]
		points := make([]v1alpha1.CurvePoint, 0, len(c.Points))
		for _, j := range nearest(len(c.Points), func(j int) float64 { return c.Points[j].Level }, o.Levels) {
			points = append(points, c.Points[j])
		}
		c.Points = points
		kept = append(kept, c)
	}
	return kept
}

// nearest returns the indices, ordered and each once, of the values nearest to
// the wanted ones; all of them when nothing is wanted.
func nearest(n int, value func(int) float64, wanted []float64) []int {
	var indices []int
	if len(wanted) == 0 {
		for i := range n {
			indices = append(indices, i)
		}
		return indices
	}
	for _, w := range wanted {
		best := -1
		for i := range n {
			if best < 0 || math.Abs(value(i)-w) < math.Abs(value(best)-w)-1e-9 {
				best = i
			}
		}
		if best >= 0 {
			indices = append(indices, best)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// noise perturbs curves as runs that do not repeat exactly would.
type noise struct {
	spread float64
	source *rand.Rand
}

// leastNoisy keeps performance above zero whatever the noise; the most that a profile
// holds bounds it above.
const leastNoisy = 0.01

// on returns the curves with every performance multiplied by 1 + noise.
func (n *noise) on(all []v1alpha1.SensitivityCurve) []v1alpha1.SensitivityCurve {
	if n.spread == 0 {
		return all
	}
	noisy := slices.Clone(all)
	for i := range noisy {
		points := slices.Clone(noisy[i].Points)
		for j := range points {
			n.add(&points[j].NormalizedPerformance)
		}
		noisy[i].Points = points
	}
	return noisy
}

// onCache is on for points in the cache.
func (n *noise) onCache(points []v1alpha1.CachePoint) []v1alpha1.CachePoint {
	if n.spread == 0 {
		return points
	}
	noisy := slices.Clone(points)
	for i := range noisy {
		n.add(&noisy[i].NormalizedPerformance)
	}
	return noisy
}

func (n *noise) add(performance *float64) {
	factor := max(1+n.spread*n.source.NormFloat64(), leastNoisy)
	*performance = min(*performance*factor, v1alpha1.MaxNormalizedPerformance)
}
