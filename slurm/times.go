package slurm

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// minutes reads a time limit as sbatch does, where a number alone means minutes, and
// "D-HH" and "D-HH:MM" have no seconds; 0 for none.
func minutes(text string) time.Duration {
	days, clock, hasDays := strings.Cut(strings.TrimSpace(text), "-")
	switch colons := strings.Count(text, ":"); {
	case text == "":
		return 0
	case !hasDays && colons == 0:
		return time.Duration(min(whole(text), maxDuration/int64(time.Minute))) * time.Minute
	case hasDays && colons == 0:
		return duration(days + "-" + clock + ":00:00")
	case hasDays && colons == 1:
		return duration(days + "-" + clock + ":00")
	}
	return duration(text)
}

// ParseNodes reads the number of nodes of a job, or its bounds, as 2 and 2-4.
func ParseNodes(text string) (least, most int, err error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	least, most = int(whole(low)), int(whole(high))
	if least < 1 || most < least {
		return 0, 0, fmt.Errorf("%q: want a number of 1 or more, or a range such as 2-4", text)
	}
	return least, most, nil
}

// ParseTimeLimit reads a time limit as sbatch does; 0 for one that is unlimited.
func ParseTimeLimit(text string) (time.Duration, error) {
	limit := minutes(text)
	if limit <= 0 && !slices.Contains([]string{"", "0", "-1", "infinite", "unlimited"}, strings.ToLower(text)) {
		return 0, fmt.Errorf("time limit %q: want minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS", text)
	}
	return limit, nil
}
