package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
)

// occupancyReadings is how often the occupancy is read in each condition.
const occupancyReadings = 5

// meanOccupancy returns the mean of some readings, a time apart; nil where one has no value.
func meanOccupancy(ctx context.Context, o bench.Occupancy, apart time.Duration) (*float64, error) {
	var sum float64
	for range occupancyReadings {
		bytes, known, err := o.Bytes()
		if err != nil {
			return nil, fmt.Errorf("what the application holds of the cache: %w", err)
		}
		if !known {
			return nil, ctx.Err()
		}
		sum += bytes / occupancyReadings
		bench.Pause(ctx, apart)
	}
	return &sum, ctx.Err()
}

// addOccupancy sets what the application holds of the cache beside each of the points, and
// returns what it holds alone; nil where nothing counts that.
func (c *inCache) addOccupancy(ctx context.Context, slicing modulation.Slicing, kept []heldPoint) (alone *float64, err error) {
	if c.target.Occupancy() == nil {
		return nil, nil //nolint:nilnil // there is nothing to read
	}
	err = c.stage.Control(ctx, func() error {
		if alone, err = c.occupied(ctx, slicing, false); err != nil {
			return err
		}
		for i := range kept {
			c.second.Does = kept[i].pressure.Settings()
			if kept[i].point.OccupancyBytes, err = c.occupied(ctx, slicing, true); err != nil {
				return err
			}
		}
		return nil
	})
	return alone, err
}

// occupied returns what the application holds of the cache, after as long as it takes to fill
// it.
func (c *inCache) occupied(ctx context.Context, slicing modulation.Slicing, beside bool) (bytes *float64, err error) {
	if err := c.target.Again(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.target.Switch(false), c.second.Switch(false)) }()
	if err := errors.Join(c.target.Switch(true), c.second.Switch(beside)); err != nil {
		return nil, err
	}
	bench.Pause(ctx, slicing.Length)
	return meanOccupancy(ctx, c.target.Occupancy(), slicing.Settle/occupancyReadings)
}
