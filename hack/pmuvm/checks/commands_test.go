package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// commandChecks are about what is measured, and what is made of it.
func commandChecks() []check {
	steady := machine{pmus: "uncore_imc_0:icx", rates: unequalRates, processor: iceLake}
	still := machine{pmus: "uncore_imc_0:icx", processor: iceLake}
	unmoved := machine{pmus: "uncore_imc_0:icx", rates: "* 0 1000 500", processor: iceLake}
	return []check{
		{"a command beside steady traffic", steady.on(func() error {
			return exactly(root, oneBox, "--", "pmuctl", "sleep", "300ms")
		})},
		{"all traffic of a command, from its start to its end", still.on(commandCaught)},
		{"a command that fails", steady.on(func() error {
			o, err := bandmate(root, measureArguments("imc", []string{"--", "pmuctl", "remove", "nothing"})...)
			if err == nil && (o.code == 0 || o.stdout != "") {
				err = fmt.Errorf("exit code %d, printed %q", o.code, o.stdout)
			}
			return err
		})},
		{"time line", steady.on(timeline)},
		{"counters are preferred where there are some", steady.on(func() error {
			s, err := measure(root, "", "--duration", "300ms")
			if err == nil && s.Source != "imc" {
				err = fmt.Errorf("source %q, want imc", s.Source)
			}
			return errors.Join(err)
		})},
		{"doctor lists the counters", steady.on(doctor)},
		{"onboarding", steady.on(onboarding)},
		{"verification finds counters that see nothing of the traffic", unmoved.on(verification)},
	}
}

// commandCaught adds exact counts while a command runs, at its very start and
// end. The bandwidth times the seconds is compared coarsely: both hold a clock,
// which the emulation may bend. The ratio of reads to writes holds none.
func commandCaught() error {
	s, err := measure(root, "imc", "--",
		"pmuctl", "add", "* 0 4e6 1e6", "sleep", "300ms", "add", "* 0 2e6 1e6")
	if err != nil {
		return err
	}
	if s.ReadShare == nil || s.ReadBytesPerSecond == nil {
		return errors.New("no read share or bandwidth")
	}
	const clocks = 0.2
	return errors.Join(
		within("read share", *s.ReadShare, 0.75, tolerance),
		within("bytes read", *s.ReadBytesPerSecond*s.Seconds, bytesPerCount*6e6, clocks))
}

func timeline() error {
	s, err := measure(root, "imc", "--duration", "1s", "--interval", "100ms")
	if err != nil {
		return err
	}
	if len(s.Timeline) < 3 {
		return fmt.Errorf("%d samples of 100 ms in 1 s", len(s.Timeline))
	}
	var faults []error
	for i, sample := range s.Timeline {
		faults = append(faults, oneBox.compare(fmt.Sprintf("sample %d", i), sample.ReadBytesPerSecond, sample.WriteBytesPerSecond, oneBox.total()))
	}
	return errors.Join(faults...)
}

func doctor() error {
	o, err := bandmate(root, "doctor", "-o", "json")
	if err != nil {
		return err
	}
	if !json.Valid([]byte(o.stdout)) || !strings.Contains(o.stdout, "imc") || !strings.Contains(o.stdout, "amd-umc") {
		return fmt.Errorf("exit code %d, printed %s, want the sources imc and amd-umc in it", o.code, o.stdout)
	}
	return nil
}

// profile is what `bandmate onboard -o json` prints, as far as it matters here.
type profile struct {
	Spec struct {
		Contentiousness struct {
			Source                                  string
			ReadBytesPerSecond, WriteBytesPerSecond float64
		}
		Curves []struct {
			Points []struct{ NormalizedPerformance float64 }
		}
	}
}

// onboardings is how often an onboarding may go on after it gave up, as it does
// where a busy host keeps two emulated CPUs from running at the same time.
const onboardings = 3

// onboarding looks for the counted traffic in the profile of an application. The
// curve says nothing in an emulated machine; one pressure and one repeat suffice.
func onboarding() error {
	arguments := []string{
		"onboard", "app", "--source", "imc", "-o", "json",
		"--read-share", "100%", "--levels", "100%", "--repeats", "1", "--max-repeats", "1",
	}
	var o outcome
	for attempt := range onboardings {
		if attempt > 0 {
			arguments = append(slices.Clip(arguments), "--resume")
		}
		var err error
		if o, err = bandmate(root, slices.Concat(arguments, []string{"--", "pmuctl", "sleep", "200ms"})...); err != nil {
			return err
		}
		if o.code == 0 || !strings.Contains(o.stderr, "--resume") {
			break
		}
	}
	var p profile
	if err := json.Unmarshal([]byte(o.stdout), &p); err != nil {
		return fmt.Errorf("exit code %d, printed %q, said %q: %w", o.code, o.stdout, o.stderr, err)
	}
	c := p.Spec.Contentiousness
	faults := []error{oneBox.compare("contentiousness", c.ReadBytesPerSecond, c.WriteBytesPerSecond, oneBox.total())}
	if c.Source != "imc" {
		faults = append(faults, fmt.Errorf("source %q, want imc", c.Source))
	}
	if len(p.Spec.Curves) == 0 || len(p.Spec.Curves[0].Points) == 0 {
		faults = append(faults, errors.New("no curve"))
	}
	return errors.Join(faults...)
}

// verification expects a disagreement: the pretend counters go on at their rate
// whatever memory does, which is little beside what the interferer makes even in
// an emulated machine.
func verification() error {
	o, err := bandmate(root, "doctor", "--verify", "-q", "-o", "json")
	if err != nil {
		return err
	}
	var result struct {
		Source    string
		Agree     *bool
		Diagnosis struct{ Cause string }
		Checks    []struct{ Agrees bool }
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil {
		return fmt.Errorf("exit code %d, printed %q, said %q: %w", o.code, o.stdout, o.stderr, err)
	}
	const disagree = 1
	if o.code != disagree || result.Agree == nil || *result.Agree || result.Source != "imc" ||
		result.Diagnosis.Cause != "nothing-counted" || len(result.Checks) < 6 {
		return fmt.Errorf("exit code %d, printed %q: want %d and that nothing is counted of six checks or more", o.code, o.stdout, disagree)
	}
	return nil
}
