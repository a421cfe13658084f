package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
)

// Occupancy tells what a process and what it starts hold of the last-level caches.
type Occupancy interface {
	// Bytes returns what they hold now; false while that is not known.
	Bytes() (bytes float64, known bool, err error)
	// Close ends the reading.
	Close() error
}

// occupancyReadings is how often the occupancy is read in each condition.
const occupancyReadings = 5

// meanOccupancy returns the mean of some readings, a time apart; nil where one has no value.
func meanOccupancy(ctx context.Context, o Occupancy, apart time.Duration) (*float64, error) {
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
		pause(ctx, apart)
	}
	return &sum, ctx.Err()
}

// addOccupancy sets what the application holds of the cache beside each of the points, and
// returns what it holds alone; nil where nothing counts that.
func (c *inCache) addOccupancy(ctx context.Context, slicing modulation.Slicing, kept []heldPoint) (alone *float64, err error) {
	if c.target.watch == nil {
		return nil, nil //nolint:nilnil // there is nothing to read
	}
	err = c.stage.control(ctx, func() error {
		if alone, err = c.occupied(ctx, slicing, false); err != nil {
			return err
		}
		for i := range kept {
			c.second.does = kept[i].pressure.Settings()
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
	if err := c.target.again(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.target.Switch(false), c.second.Switch(false)) }()
	if err := errors.Join(c.target.Switch(true), c.second.Switch(beside)); err != nil {
		return nil, err
	}
	pause(ctx, slicing.Length)
	return meanOccupancy(ctx, c.target.holds, slicing.Settle/occupancyReadings)
}
