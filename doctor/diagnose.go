package doctor

import (
	"fmt"
	"math"

	"bandmate.dev/bandmate/units"
)

// Cause is the most likely reason why counters and traffic disagree.
type Cause string

const (
	// Agreement means that every check agrees.
	Agreement Cause = "none"
	// DoubleCounting counts the same traffic several times.
	DoubleCounting Cause = "double-counting"
	// MissingChannels counts some of the channels only, or of the sub-channels.
	MissingChannels Cause = "missing-channels"
	// WrongScale takes a count for too many or too few bytes.
	WrongScale Cause = "wrong-scale"
	// Swapped takes reads for writes.
	Swapped Cause = "reads-and-writes-swapped"
	// WritesMissing counts reads only.
	WritesMissing Cause = "writes-missing"
	// ReadsMissing counts writes only.
	ReadsMissing Cause = "reads-missing"
	// NothingCounted sees nothing of the traffic.
	NothingCounted Cause = "nothing-counted"
	// Noise differs from check to check.
	Noise Cause = "noise"
	// Unknown is the same in every check, and no known cause explains it.
	Unknown Cause = "unknown"
)

// Diagnosis names a likely cause.
type Diagnosis struct {
	Cause Cause `json:"cause"`
	// Factor is counted ÷ generated traffic where it is about the same in all
	// checks, else 0.
	Factor float64 `json:"factor,omitempty"`
	// Detail says what was seen and what it points to; Remedy what to do about
	// it. Both are empty for Agreement.
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

const (
	// unseen is the part of the traffic below which nothing was counted. The smallest
	// wrong scale that is recognized, 1 ÷ 64, is above.
	unseen = 0.005
	// absent is the part of one kind of traffic below which that kind is
	// missing.
	absent = 0.05
	// near and nearer are the accepted relative distances from the factor that explains
	// a count: the tolerance of a check, and less where other factors are close.
	near   = TrafficTolerance
	nearer = 0.01
	// mostChannels is the largest number of channels that a share of them is
	// looked for in: that of the largest sockets.
	mostChannels = 12
)

// Diagnose returns the most likely reason why counters disagree with the generated
// traffic. It needs checks of different read shares to distinguish reads from writes.
// Checks without traffic or with rates that are not finite are ignored; without any
// other check the cause is Unknown.
func Diagnose(checks []Check) Diagnosis {
	var usable []Check
	agree, splitsReadWrite := true, true
	for _, c := range checks {
		if !c.comparable() {
			continue
		}
		usable = append(usable, c)
		agree = agree && c.Agrees()
		splitsReadWrite = splitsReadWrite && c.SplitsReadWrite
	}
	switch {
	case len(usable) == 0:
		return Diagnosis{
			Cause: Unknown, Detail: "no traffic was made that could be compared",
			Remedy: "end other programs and verify again",
		}
	case agree:
		return Diagnosis{Cause: Agreement}
	case countNothing(usable):
		return nothingCounted(usable)
	}
	if splitsReadWrite {
		if d, ok := diagnoseKinds(usable); ok {
			return d
		}
	}
	total := fit(usable, func(c Check) (units.Bandwidth, units.Bandwidth) { return c.Made.Total(), c.Net().Total() })
	sharesAgree := true
	for _, c := range usable {
		share, ok := c.ReadShareError()
		sharesAgree = sharesAgree && (!ok || math.Abs(share) <= ReadShareTolerance)
	}
	if !total.steady || !sharesAgree {
		return noise(usable)
	}
	return diagnoseFactor(total.factor)
}

func countNothing(checks []Check) bool {
	for _, c := range checks {
		if c.Net().Total() > unseen*c.Made.Total() {
			return false
		}
	}
	return true
}

func nothingCounted(checks []Check) Diagnosis {
	d := Diagnosis{
		Cause:  NothingCounted,
		Detail: "the counters stayed at zero while there was traffic",
		Remedy: "look for a driver of this very processor (a newer kernel), and report it with the output of bandmate doctor; until then use --source probe",
	}
	for _, c := range checks {
		if c.Counted.Total() > 0 {
			d.Detail = "the counters count the same with and without the traffic: they see other memory than the interferer's, or count something else"
			d.Remedy = "verify with --cpus on another socket; if that does not help, use --source probe"
		}
	}
	return d
}

// fitted is a factor between what was made and what was counted.
type fitted struct {
	factor float64
	// steady says that it explains every check.
	steady bool
}

// fit finds the factor by least squares through zero, which weighs checks by
// their traffic. A check is explained when it is off by no more than the
// tolerance of its total.
func fit(checks []Check, of func(Check) (made, counted units.Bandwidth)) fitted {
	var products, squares float64
	for _, c := range checks {
		made, counted := of(c)
		products += float64(made) * float64(counted)
		squares += float64(made) * float64(made)
	}
	if squares == 0 {
		return fitted{}
	}
	f := fitted{factor: products / squares, steady: true}
	for _, c := range checks {
		made, counted := of(c)
		off := math.Abs(float64(counted) - f.factor*float64(made))
		f.steady = f.steady && off <= TrafficTolerance*math.Abs(f.factor)*float64(c.Made.Total())
	}
	return f
}

// explains reports whether every check's counted traffic is what the change
// makes of the traffic, within the tolerance of its total.
func explains(checks []Check, change func(units.Traffic) units.Traffic) bool {
	for _, c := range checks {
		want, got, limit := change(c.Made), c.Net(), TrafficTolerance*c.Made.Total()
		if abs(want.Read-got.Read) > limit || abs(want.Write-got.Write) > limit {
			return false
		}
	}
	return true
}

func abs(b units.Bandwidth) units.Bandwidth { return max(b, -b) }

// diagnoseKinds looks for faults of reads or writes alone.
func diagnoseKinds(checks []Check) (Diagnosis, bool) {
	swapped := func(t units.Traffic) units.Traffic { return units.Traffic{Read: t.Write, Write: t.Read} }
	const report = "use --source probe, and report it with the output of bandmate doctor: the catalog of counters has a wrong row for this processor or kernel"
	if explains(checks, swapped) {
		return Diagnosis{Cause: Swapped, Detail: "as many writes are counted as reads were made, and the other way round: the codes of reads and writes are exchanged", Remedy: report}, true
	}
	reads := fit(checks, func(c Check) (units.Bandwidth, units.Bandwidth) { return c.Made.Read, c.Net().Read })
	writes := fit(checks, func(c Check) (units.Bandwidth, units.Bandwidth) { return c.Made.Write, c.Net().Write })
	right := func(f fitted) bool { return f.steady && math.Abs(f.factor-1) <= 2*TrafficTolerance }
	switch {
	case right(reads) && math.Abs(writes.factor) < absent:
		return Diagnosis{Cause: WritesMissing, Detail: "reads agree, and no writes are counted", Remedy: report}, true
	case right(writes) && math.Abs(reads.factor) < absent:
		return Diagnosis{Cause: ReadsMissing, Detail: "writes agree, and no reads are counted", Remedy: report}, true
	case right(reads) && writes.steady && math.Abs(writes.factor-1) > absent:
		return Diagnosis{Cause: WrongScale, Detail: fmt.Sprintf("reads agree, and writes are counted %s times", decimal(writes.factor)), Remedy: report}, true
	case right(writes) && reads.steady && math.Abs(reads.factor-1) > absent:
		return Diagnosis{Cause: WrongScale, Detail: fmt.Sprintf("writes agree, and reads are counted %s times", decimal(reads.factor)), Remedy: report}, true
	}
	return Diagnosis{}, false
}

// scales are the factors between units that are confused with each other.
var scales = []struct {
	factor, tolerance float64
	// inverse says that the error is as likely the other way round.
	inverse bool
	means   string
}{
	{64, near, true, "bytes for cache lines of 64"},
	{32, near, true, "bytes for accesses of 32"},
	{16, near, true, "a scale 16 times too small or large, as some kernels state it for free-running counters"},
	{8, near, false, "bits for bytes"},
	{1 << 20 / 1e6, nearer, true, "MiB for MB"},
	{1 << 30 / 1e9, nearer, true, "GiB for GB"},
}

// diagnoseFactor explains a factor that all traffic is counted with.
func diagnoseFactor(factor float64) Diagnosis {
	d := Diagnosis{Factor: factor}
	about := func(f, tolerance float64) bool { return math.Abs(factor/f-1) <= tolerance }
	for _, s := range scales {
		if !about(s.factor, s.tolerance) && (!s.inverse || !about(1/s.factor, s.tolerance)) {
			continue
		}
		d.Cause = WrongScale
		d.Detail = fmt.Sprintf("all traffic is counted %s times: a wrong scale or unit, such as %s", decimal(factor), s.means)
		d.Remedy = "compare with a newer kernel, and report it with the output of bandmate doctor; until then use --source probe"
		return d
	}
	for times := 2.0; times <= mostChannels; times++ {
		if !about(times, near) {
			continue
		}
		d.Cause = DoubleCounting
		d.Detail = fmt.Sprintf("all traffic is counted %g times: the same counters are opened on several CPUs, or free-running counters are added to regular ones (or a count stands for 1/%g of the bytes assumed)", times, times)
		d.Remedy = "report it with the output of bandmate measure -o json, which lists every counting device under counters.channels"
		return d
	}
	for of := 2.0; of <= mostChannels; of++ {
		n := math.Round(factor * of)
		if n < 1 || n >= of || !about(n/of, nearer) {
			continue
		}
		d.Cause = MissingChannels
		d.Detail = fmt.Sprintf("%g/%g of the traffic is counted: channels are missing", n, of)
		if of == 2 {
			d.Detail = "half of the traffic is counted: channels are missing, as the second sub-channel on Granite Rapids (or a count stands for twice the bytes assumed)"
		}
		d.Remedy = "compare counters.channels of bandmate measure -o json with the memory channels in use; a newer kernel may name the missing ones"
		return d
	}
	d.Cause = Unknown
	d.Detail = fmt.Sprintf("all traffic is counted %s times, which no known cause explains", decimal(factor))
	d.Remedy = "report it with the output of bandmate doctor; until then use --source probe"
	return d
}

func decimal(factor float64) string { return fmt.Sprintf("%.3g", factor) }

func noise(checks []Check) Diagnosis {
	var most units.Bandwidth
	for _, c := range checks {
		most = max(most, c.Background.Total())
	}
	return Diagnosis{
		Cause:  Noise,
		Detail: fmt.Sprintf("the disagreement differs from check to check: other traffic came and went (up to %s in the background)", most),
		Remedy: "end other programs and other tools that program the counters, then verify again",
	}
}
