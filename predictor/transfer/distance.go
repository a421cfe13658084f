package transfer

import "bandmate.dev/bandmate/api/v1alpha1"

// nearer reports whether co-runners are farther from the memory than a target on the machine
// from, but not on to: there, the co-runner is as the target.
func (c *conversion) nearer() bool {
	return c.app.Spec.Distance != nil && c.to.Spec.CorunnerLink() == v1alpha1.LinkNone
}

// distance scales times and traffic by the speed alone. A machine on which nobody is
// farther from the memory has none.
func (c *conversion) distance() *v1alpha1.Distance {
	if c.app.Spec.Distance == nil || c.nearer() {
		return nil
	}
	d := *c.app.Spec.Distance.DeepCopy()
	d.CorunnerCPUs = ""
	d.CorunnerSolo.Seconds /= float64(c.speed)
	d.TargetReadBytesPerSecond *= float64(c.speed)
	d.TargetWriteBytesPerSecond *= float64(c.speed)
	return &d
}

// factors multiply the times and the traffic of a co-runner.
type factors struct{ read, write, seconds float64 }

// factors are those of the speed alone. Where the distance is dropped, they also turn the
// co-runner into the target.
func (c *conversion) factors() factors {
	speed := float64(c.speed)
	by := factors{speed, speed, 1 / speed}
	if c.nearer() {
		far, near := &c.app.Spec.Contentiousness, c.own()
		by.read *= relative(float64(near.Read), far.ReadBytesPerSecond)
		by.write *= relative(float64(near.Write), far.WriteBytesPerSecond)
		by.seconds *= relative(c.app.Spec.Solo.Seconds, c.app.Spec.Distance.CorunnerSolo.Seconds)
	}
	return by
}

// relative returns x ÷ base, or 1 where the base is 0.
func relative(x, base float64) float64 {
	if base == 0 {
		return 1
	}
	return x / base
}
