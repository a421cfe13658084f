package fast

import (
	"math"

	"bandmate.dev/bandmate/predictor"
)

// capacity is the bounds of the capacity of the memory in bytes per second, as
// predictor.Application.Capacity has them.
type capacity struct {
	least, most float32 // most is +Inf where unknown
}

var unknownCapacity = capacity{most: float32(math.Inf(1))}

func capacityOf(a *predictor.Application) capacity {
	least, most := a.Capacity()
	c := capacity{least: float32(least), most: unknownCapacity.most}
	if most > 0 {
		c.most = float32(most)
	}
	return c
}

// with returns the bounds that two applications show together.
func (c capacity) with(other capacity) capacity {
	return capacity{max(c.least, other.least), min(c.most, other.most)}
}

// part returns how much of traffic the memory carries, 1 where it carries all.
func (c capacity) part(traffic float32) float32 {
	if most := max(c.least, c.most); traffic > most {
		return most / traffic
	}
	return 1
}
